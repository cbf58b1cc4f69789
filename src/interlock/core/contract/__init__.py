"""What a task may do: cards, classes, paths, policy, readiness and batches; reading files is the adapters' work."""
