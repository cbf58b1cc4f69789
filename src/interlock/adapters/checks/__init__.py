"""Running checks and reading their reports; whether they suffice is decided in core."""
