"""A client of the Agent Client Protocol that stands between one agent and its runner: lines out, answers in."""
