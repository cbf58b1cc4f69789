"""How a task gets its own database; which one is named by the card."""
