"""The games as data: editions, boards, decks, options and their named choices."""
