"""Trace contexts where nothing is traced: handed on as they came, and kept in the log."""

from __future__ import annotations

import pytest

from omnipoly.rules import actions as act
from omnipoly.wire.gen.gateway.v1 import lobby_pb2
from tests.services.gateway.calling import Client, unique_id
from tests.services.gateway.refusing import Game

SENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(("sent", "kept"), [(SENT, SENT), ("", ""), ("00-nonsense", ""), (SENT.upper(), "")])
async def test_what_a_plain_call_belongs_to_is_kept(ann: Client, sent: str, kept: str) -> None:
    ann.metadata = (*ann.metadata, ("traceparent", sent))
    request = lobby_pb2.CreateTableRequest(request_id=unique_id("r"), edition="rugpull")
    opened = await ann.call("Lobby/CreateTable", request)
    added = await ann.act(opened.table, act.AddBot())
    assert [answer.commits[0].traceparent for answer in (opened, added)] == [kept, kept]


async def test_what_a_message_belongs_to_is_kept(begun: Game) -> None:
    await begun.stream.send_act(begun.table, act.Roll(), traceparent=SENT)
    assert (await begun.stream.up_to(4))[-1].traceparent == SENT
