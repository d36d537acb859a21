"""Finished games: a row each, and who stands where by them, written by the commits that end them."""
