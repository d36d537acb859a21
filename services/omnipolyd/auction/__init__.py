"""The auction service: the way of a bid, and pictures of running auctions for those who follow them."""
