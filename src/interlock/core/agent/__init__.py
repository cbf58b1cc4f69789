"""Agents as values: what they said, what it cost, how it ended; starting one is the shell's work."""
