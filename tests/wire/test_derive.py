"""`omnipoly.wire.derive`: what does not fit is said when it is derived, not when something is lost."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from omnipoly.wire.derive import Deriver, Unmapped
from omnipoly.wire.gen.game.v1 import actions_pb2, edition_pb2, events_pb2, types_pb2


def struct(**attributes: Any) -> type[msgspec.Struct]:
    return msgspec.defstruct("Made", list(attributes.items()), frozen=True)


@pytest.mark.parametrize(
    ("made", "message", "why"),
    [
        (struct(seat=int, amount=int, extra=int), types_pb2.LastBid, "no field for Made.extra"),
        (struct(seat=int), types_pb2.LastBid, "amount"),
        (struct(seat=str, amount=int), types_pb2.LastBid, "cannot hold"),
        (struct(seat=int | None, amount=int), types_pb2.LastBid, "may be absent"),
        (struct(least=int, most=int | str), edition_pb2.Range, "cannot hold"),
        (struct(name=str | None), actions_pb2.Join, "may be absent"),
        (struct(seat=int, why=Literal["doubles", "field"]), events_pb2.Jailed, "CARD"),
        (struct(seat=int, why=Literal["doubles", "field", "card", "bribe"]), events_pb2.Jailed, "BRIBE"),
        (struct(seat=int, why=float), events_pb2.Jailed, "no enum|not an enum"),
        (struct(opened=tuple[int, ...], closed=tuple[int, ...]), events_pb2.Asked, "cannot hold"),
        (struct(opened=int, closed=str), events_pb2.Asked, "cannot hold"),
        (struct(by=int), actions_pb2.Advance, "cannot hold"),
        (struct(order=tuple[int, int, int]), events_pb2.OrderDecided, "cannot hold"),
        (struct(order=tuple[str, ...]), events_pb2.OrderDecided, "cannot hold"),
    ],
)
def test_what_does_not_fit_is_not_derived(made: type[msgspec.Struct], message: Any, why: str) -> None:
    with pytest.raises(Unmapped, match=why):
        Deriver().pair(made, message.DESCRIPTOR)


def test_a_message_may_have_fields_of_its_own_where_that_is_said() -> None:
    pair = Deriver().pair(struct(seat=int), types_pb2.LastBid.DESCRIPTOR, partly=True)
    assert pair.read(types_pb2.LastBid(seat=3, amount=5)).seat == 3


def test_what_is_written_in_a_special_way_is_never_read() -> None:
    special = {("Made", "both"): ("{p}.least, {p}.most = {v}", ("least", "most"))}
    pair = Deriver(special=special).pair(struct(both=tuple[int, int]), edition_pb2.Range.DESCRIPTOR)
    message = edition_pb2.Range()
    pair.write(struct(both=tuple[int, int])((1, 2)), message)
    assert (message.least, message.most) == (1, 2)
    with pytest.raises(TypeError, match="only ever written"):
        pair.read(message)


@pytest.mark.parametrize("ms", [0, 1, 999, 1000, 86_400_001, -1, -1500])
def test_durations_and_times_keep_their_milliseconds(ms: int) -> None:
    deriver = Deriver()
    advance, paused = struct(by_ms=int), struct(at_ms=int)
    for made, message in ((advance, actions_pb2.Advance()), (paused, events_pb2.Paused())):
        pair = deriver.pair(made, message.DESCRIPTOR)
        pair.write(made(ms), message)
        again = type(message).FromString(message.SerializeToString())
        assert pair.read(again) == made(ms)
    by = actions_pb2.Advance()
    deriver.pair(advance, by.DESCRIPTOR).write(advance(ms), by)
    assert by.by.ToMilliseconds() == ms
