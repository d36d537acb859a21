"""What those who run the site do to tables, persons and wallets, and the log of all their calls."""
