"""Text, bytes and programs of the outside world turned into values; each folder is unaware of the others."""
