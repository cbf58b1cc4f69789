"""``interlock-task``: what an agent says to the harness, and what it may ask; stands alone and needs no network."""
