"""The table service: every game, and the only truth about it."""
