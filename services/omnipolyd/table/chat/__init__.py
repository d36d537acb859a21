"""The chat at tables: lines as rows beside the log, the last 200 of a table."""
