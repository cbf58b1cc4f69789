"""All calls of git: the trusted mirror, commits, differences, merges, and the trees of tasks; when they are made is the app's word."""
