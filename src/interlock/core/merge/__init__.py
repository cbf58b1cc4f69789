"""Order, train and bisection as pure decisions; merging and testing are the app's work."""
