"""The git gate: what a task may push and see of the trusted mirror; the network is the folder beside it."""
