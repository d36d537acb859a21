"""A table's door: its PIN, who was let in, and who was sent away; rows beside the log."""
