"""What operators do to the log from the command line: finished games to files, names out of games."""
