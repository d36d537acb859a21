"""Persons, their sessions and bans: rows beside the log, and the contract over them."""
