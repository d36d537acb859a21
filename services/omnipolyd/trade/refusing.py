"""What may be refused without the table: an offer seen to be closed, for ever; a quota, once the head confirms it.

The conditions are the engine's own (`engine.verify`). A command that was accepted before is never refused here: it is a
repeat, and the table answers it as it did the first time.
"""

from __future__ import annotations

from omnipoly.rules import engine
from omnipoly.rules.actions import Accept, Offer, Refuse, Withdraw
from omnipoly.rules.codes import Code
from omnipoly.rules.state import Out

from .book import TradeBook

QUOTAS = frozenset((Code.OFFER_OPEN, Code.OFFER_COOLDOWN, Code.OFFER_UNANSWERED, Code.OFFER_QUOTA))
MARGIN_MS = 1000
"""How far clocks may be apart: what could end within it is the table's to judge."""


def quota(book: TradeBook, actor: str, offer: Offer, command_id: str, *, now_s: float, repeats_s: float) -> Code | None:
    """The quota that an offer breaks at the version known here, which the head has to confirm; None: it is carried.

    now_s: the event loop's clock. repeats_s: how long after a command it may be sent again: until the table has been
    followed for so long, an offer could be a repeat of one that was made before.
    """
    if not _plays(book, actor) or now_s - book.since < repeats_s or (actor, command_id) in book.made:
        return None
    now_ms = book.now_ms() + MARGIN_MS
    due_ms = engine.next_deadline_ms(book.state)
    if 0 < due_ms <= now_ms:
        return None  # something falls due first, the open offer perhaps
    s = book.state
    seat = s.holder.index(actor)
    if any(
        (own.proposer, own.receiver, own.give, own.take) == (seat, offer.to, offer.give, offer.take) for own in s.offers
    ):
        return None  # the very one that lies open, perhaps said again
    code = engine.verify(s, actor, offer, now_ms)
    return code if code in QUOTAS else None


def gone(book: TradeBook, actor: str, action: Accept | Refuse | Withdraw, command_id: str) -> bool:
    """Whether the offer is surely no longer open, and this command not the one that closed it."""
    closer = book.closed.get(action.offer)
    return closer is not None and closer != (actor, command_id) and _plays(book, actor)


def _plays(book: TradeBook, actor: str) -> bool:
    """Whether the table has no earlier reason to refuse the actor."""
    s = book.state
    return not s.ended and not s.rests and actor in s.holder and s.out[s.holder.index(actor)] == Out.IN
