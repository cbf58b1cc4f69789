"""The walls around one run, made real on Linux; what a sandbox is stands in core.sandbox, its network in host.network."""
