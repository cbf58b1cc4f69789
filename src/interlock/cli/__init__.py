"""Words, colours and exit codes of the interlock command; each verb calls one use case."""
