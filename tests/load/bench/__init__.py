"""``make bench``: what the platform costs, against the same hops with no game in them. See docs/performance.md."""
