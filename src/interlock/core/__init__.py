"""The rules, decided from values alone; nothing here reads a clock, a file, a socket or a random number."""
