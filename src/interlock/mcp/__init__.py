"""The queue for a manager agent, over the Model Context Protocol: what a person types as verbs, without what only a person decides."""
