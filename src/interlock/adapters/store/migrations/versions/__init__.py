"""One file for each revision, in their order."""
