"""What may come of a sign-in but a person."""

from __future__ import annotations


class NotVouched(Exception):
    """It did not succeed: why, in words for the log alone, without anything of what came."""


class Unreachable(Exception):
    """The issuer cannot be asked now, or does not answer as one does."""
