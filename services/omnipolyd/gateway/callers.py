"""Who calls: a verified session, in the form in which it is handed on."""

from __future__ import annotations

from omnipoly.wire.gen.table.v1 import identity_pb2

from . import frames, tokens
from .tokens import Claims

ADMIN = "admin"

_IDENTITY = 2
"""The number of ``identity`` in ``ActRequest``; in other requests to the table it is another."""


class Caller:
    """Somebody with a session."""

    __slots__ = ("act_field", "bots", "claims", "guest", "identity", "name", "person", "traceparent")

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.traceparent = ""
        """The trace that the call they came with belongs to; "": none."""
        self.person = claims.person
        self.name = claims.name
        self.guest = claims.guest
        self.bots = tokens.BOTS in claims.roles
        """The platform's own bots."""
        self.identity = identity_pb2.Identity(
            person=claims.person,
            name=claims.name,
            guest=claims.guest,
            admin=ADMIN in claims.roles,
            roles=claims.roles,
        )
        self.act_field = frames.field(_IDENTITY, self.identity.SerializeToString())
        """The identity as the bytes of a field of ``ActRequest``: made once, put behind each command."""


def bot_field(bot: str) -> bytes:
    """The same field for a bot of the platform's own."""
    return frames.field(_IDENTITY, identity_pb2.Identity(person=bot, bot=True).SerializeToString())
