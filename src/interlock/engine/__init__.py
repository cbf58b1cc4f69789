"""Everything that knows DBOS: the durable hand that carries one action out; what is due is decided in core.plan."""
