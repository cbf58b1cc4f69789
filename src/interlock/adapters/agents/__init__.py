"""How each kind of agent is started; running and judging it happens in host and app."""
