"""The gates as pure decisions: admission, scope, kept tests; asking the world is the app's work."""
