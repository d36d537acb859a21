"""Decisions of one's seat as they open, one after another, each with what would be accepted.

async for decision in play.decisions(table):
    await decision.answer(choose(decision.actions[0]))
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from omnipoly.client.connection import TIMEOUT_S
from omnipoly.client.happenings import Gone
from omnipoly.client.refused import Refused
from omnipoly.rules import actions as act
from omnipoly.rules.state import Phase

if TYPE_CHECKING:
    from omnipoly.client.lobby import Answer
    from omnipoly.client.play import Play
    from omnipoly.client.replica import TableReplica
    from omnipoly.rules.actions import Action
    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.state import Prompt


class Decision:
    """An open decision of one's seat."""

    def __init__(self, play: Play, replica: TableReplica, prompt: Prompt, listed: tuple[LegalAction, ...]) -> None:
        """For ``decisions`` alone."""
        self._play = play
        self.replica = replica
        """The table; its ``state`` is live."""
        self.prompt = prompt
        """Seat, running number, phase, and when the clock plays it: milliseconds since 1970 UTC, the table's clock."""
        self.actions = listed
        """What the server says would be accepted; never empty."""
        self.refused: Refused | None = None
        """Why the last answer was not taken."""

    @property
    def left_s(self) -> float | None:
        """Seconds until the clock plays it; ``None``: no clock runs. Raises nothing."""
        return self.replica.left_s(self.prompt.seat)

    async def answer(self, action: Action, *, command_id: str = "", timeout_s: float = TIMEOUT_S) -> Answer:
        """Act, naming this decision: it is no answer to any other. As ``Play.act``; raises ``Refused``."""
        try:
            return await self._play.act(
                self.replica.table, action, command_id=command_id, prompt=self.prompt.prompt, timeout_s=timeout_s
            )
        except Refused as refused:
            self.refused = refused
            raise

    async def attempt(self, action: Action, *, timeout_s: float = TIMEOUT_S) -> Refused | None:
        """``answer`` that gives a refusal back in place of raising it: what may be done instead is the next decision.

        Raises ``Refused`` when nobody answered in ``timeout_s``, seconds.
        """
        try:
            await self.answer(action, timeout_s=timeout_s)
        except Refused as refused:
            if refused.passing:
                raise
            return refused
        return None


async def decisions(play: Play, table: str) -> AsyncIterator[Decision]:
    """One's decisions at a table, until its game is over or one's seat is out of it.

    Each comes once; again when what may be answered has changed (somebody bid, a debt grew), and after an answer that
    was refused, as the server then lists it. Raises ``Refused`` when the table cannot be followed, or no longer.
    """
    feed = aiter(play)
    replica = await play.follow(table)
    last: object = None
    while not _over(replica):
        listed = replica.prompt
        if listed is not None and listed is not last and listed[1]:
            last = listed
            decision = Decision(play, replica, *listed)
            yield decision
            if decision.refused is not None and not _over(replica):
                prompt, actions = await play.legal(table)
                replica.prompted(prompt, actions)
            continue
        happening = await anext(feed, None)
        if happening is None:
            return
        if isinstance(happening, Gone) and happening.table == table:
            raise Refused(happening.why, happening.sentence)


def _over(replica: TableReplica) -> bool:
    return replica.state.phases[-1] is Phase.OVER


def choose(
    listed: LegalAction, *, field: int | None = None, amount: int | None = None, offer: int | None = None
) -> Action:
    """The action that a listed one stands for: with the field, amount or offer named, else the first or least of them.

    ``amount``: whole money units of a bid, or the steps of a choice. Offers of trades have two sides and are made with
    ``rules.actions.Offer``. Raises ``ValueError`` for one of those.
    """
    kind = act.KINDS[listed.do]
    if kind is act.Offer:
        raise ValueError("an offer has two sides: make it with rules.actions.Offer")
    if kind is act.Bid:
        least = listed.amounts[0] if listed.amounts else listed.least
        return act.Bid(listed.auction, least if amount is None else amount)
    if kind is act.Pass:
        return act.Pass(listed.auction)
    if kind is act.ChooseSteps:
        return act.ChooseSteps(listed.amounts[0] if amount is None else amount)
    if kind is act.Vote:
        return act.Vote(yes=True)
    if kind is act.Build:
        choice = next((each for each in listed.fields if each.field == field), listed.fields[0])
        return act.Build(choice.field if field is None else field, choice.what or "building")
    if listed.fields:
        return kind(listed.fields[0].field if field is None else field)
    if listed.offers:
        return kind(listed.offers[0] if offer is None else offer)
    return kind(listed.seats[0]) if listed.seats else kind()
