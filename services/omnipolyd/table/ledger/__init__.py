"""Credits in double entry: wallets, fees that are held while a game is played, prizes, refunds, grants."""
