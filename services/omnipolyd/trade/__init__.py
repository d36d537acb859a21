"""The trade service: the way of an offer, persons' open offers, prepared drafts."""
