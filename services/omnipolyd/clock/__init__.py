"""The clock service: which table is due when, and the wake-ups."""
