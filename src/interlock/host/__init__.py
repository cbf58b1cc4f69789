"""Processes, locks, files and ports of this machine; what they are used for is decided elsewhere."""
