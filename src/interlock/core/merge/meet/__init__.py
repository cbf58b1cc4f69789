"""What two changes that merge cleanly do to each other, told from the facts of their files: a module for each kind of meeting."""
