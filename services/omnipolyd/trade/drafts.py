"""Prepared offers (LAS-SWAP): in memory for a day, bounded, and lost with the process."""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from prometheus_client import Gauge

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.wire.gen.game.v1 import actions_pb2, trade_pb2

A_TABLE = 16
"""Drafts of one person for one table."""
ANSWERS_KEPT = 10_000
SENT_FOR_S = 600.0
"""How long a draft that was sent can be sent again under the same command id, for those who missed the answer."""

KEPT = Gauge("omnipoly_trade_drafts", "Prepared offers in memory.")


K = TypeVar("K")
V = TypeVar("V")


class _Sent(NamedTuple):
    offer: actions_pb2.Offer
    command_id: str
    at_s: float


class Drafts:
    """Everybody's drafts."""

    def __init__(self, *, most: int, for_s: float, now_s: Callable[[], float] = time.time) -> None:
        """most: drafts in all, beyond which the oldest go. for_s: how long one is kept. now_s: the wall clock."""
        self._most = most
        self._for_s = for_s
        self._now_s = now_s
        self._drafts: OrderedDict[str, tuple[str, float, trade_pb2.Draft]] = OrderedDict()
        """(person, when, draft) by id, oldest first."""
        self._of: dict[str, dict[str, trade_pb2.Draft]] = {}
        """By person, then by id."""
        self._prepared: OrderedDict[tuple[str, str], trade_pb2.Draft] = OrderedDict()
        self._discarded: OrderedDict[tuple[str, str], bool] = OrderedDict()
        self._sent: OrderedDict[tuple[str, str], _Sent] = OrderedDict()

    def prepare(self, person: str, request_id: str, table: str, offer: actions_pb2.Offer) -> trade_pb2.Draft:
        """Keeps a draft; the same request again keeps nothing twice. Raises `Failure` ``rate_limited`` for too many."""
        self._forget_old()
        known = self._prepared.get((person, request_id))
        if known is not None:
            return known
        own = self._of.setdefault(person, {})
        if sum(draft.table == table for draft in own.values()) >= A_TABLE:
            raise failure(Code.RATE_LIMITED, f"There are {A_TABLE} drafts for this table already.")
        now_s = self._now_s()
        draft = trade_pb2.Draft(draft=uuid.uuid4().hex, table=table, offer=offer)
        draft.prepared.FromMilliseconds(round(now_s * 1000))
        own[draft.draft] = draft
        self._drafts[draft.draft] = (person, now_s, draft)
        _keep(self._prepared, (person, request_id), draft)
        while len(self._drafts) > self._most:
            self._drop(next(iter(self._drafts)))
        KEPT.set(len(self._drafts))
        return draft

    def of(self, person: str, table: str = "") -> list[trade_pb2.Draft]:
        """A person's drafts, the oldest first; for one table or for all."""
        self._forget_old()
        return [draft for draft in self._of.get(person, {}).values() if table in {"", draft.table}]

    def to_send(self, person: str, draft_id: str, table: str, command_id: str) -> actions_pb2.Offer:
        """What sending a draft offers. Raises `Failure` ``offer_gone`` when the person has no such draft."""
        self._forget_old()
        draft = self._of.get(person, {}).get(draft_id)
        if draft is not None and draft.table == table:
            return draft.offer
        sent = self._sent.get((person, draft_id))
        if draft is None and sent is not None and sent.command_id == command_id:
            return sent.offer
        raise failure(Code.OFFER_GONE, "There is no such draft.")

    def sent(self, person: str, draft_id: str, command_id: str) -> None:
        """The table has accepted it: the draft is gone."""
        draft = self._of.get(person, {}).get(draft_id)
        if draft is not None:
            _keep(self._sent, (person, draft_id), _Sent(draft.offer, command_id, self._now_s()))
            self._drop(draft_id)

    def discard(self, person: str, draft_id: str, request_id: str) -> bool:
        """Throws a draft away; whether it was there. The same request again gives the same answer."""
        answer = self._discarded.get((person, request_id))
        if answer is None:
            answer = draft_id in self._of.get(person, {})
            if answer:
                self._drop(draft_id)
            _keep(self._discarded, (person, request_id), answer)
        return answer

    def _drop(self, draft_id: str) -> None:
        person, _, _ = self._drafts.pop(draft_id)
        own = self._of[person]
        del own[draft_id]
        if not own:
            del self._of[person]
        KEPT.set(len(self._drafts))

    def _forget_old(self) -> None:
        now_s = self._now_s()
        while self._drafts:
            draft_id, (_, at_s, _) = next(iter(self._drafts.items()))
            if at_s > now_s - self._for_s:
                break
            self._drop(draft_id)
        while self._sent:
            key, sent = next(iter(self._sent.items()))
            if sent.at_s > now_s - SENT_FOR_S:
                break
            del self._sent[key]


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    if len(kept) > ANSWERS_KEPT:
        kept.popitem(last=False)
