"""The life of one job as values: events, states, evidence, stops; storing them is the store's work."""
