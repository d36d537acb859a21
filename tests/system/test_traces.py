"""One trace of a command, from whoever sent it to whoever watches, over processes of their own."""

from __future__ import annotations

import asyncio

from omnipoly.rules import actions as act
from tests.system.collector import WITHIN_S, collector
from tests.system.conftest import MakeStack
from tests.system.games import client, history

TRACE = "0af7651916cd43dd8448eb211c80319c"
SENT = f"00-{TRACE}-b7ad6b7169203331-01"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}
WAY = {"gateway.act", "table.roll", "postgres.append", "nats.publish", "gateway.show", "gateway.hear"}


async def test_a_command_is_one_trace_from_its_client_to_a_watcher_at_another_gateway(make_stack: MakeStack) -> None:
    async with collector() as traces:
        stack = make_stack(
            *("--dev", "--replicas", "gateway=2", "--replicas", "bots=0"),
            OMNIPOLY_OTLP_ENDPOINT=f"http://{traces.address}",
            OMNIPOLY_TRACE_SAMPLE_RATIO="0",  # what is not traced by its client is not traced
            OMNIPOLY_GUESTS_WATCH="true",
            OMNIPOLY_LOG_LEVEL="debug",
            **SOON,
        )
        here, there = stack.services["gateway"], stack.services["gateway-2"]
        async with client(here) as players, client(there) as watchers:
            ann, bob = await players.sign_in_guest("Ann"), await players.sign_in_guest("Bob")
            viewer = await watchers.sign_in_guest("Vic")
            table = await ann.lobby.create("rugpull")
            await bob.lobby.join(table)
            async with ann.play() as playing, viewer.play() as watching:
                replica = await watching.follow(table)
                await playing.follow(table)
                await ann.lobby.start(table)
                await playing.act(table, act.Roll(), traceparent=SENT)
                log = await history(viewer, table)
                async with asyncio.timeout(WITHIN_S):
                    feed = aiter(watching)
                    while replica.version < len(log):
                        await anext(feed)
                carried = log[-1].traceparent
        spans = await traces.has(TRACE, WAY)

    by_id = {span.id: span for span in spans}
    parents = {span.name: by_id[span.parent].name for span in spans if span.parent in by_id}
    assert {span.name for span in spans if span.parent == SENT[36:52]} == {"gateway.act"}
    assert parents["table.roll"] == "gateway.act"
    assert parents["postgres.append"] == parents["nats.publish"] == "table.roll"
    assert parents["gateway.hear"] == "nats.publish"
    # Both gateways show it: the one with its answer or what it hears, whichever comes first, the other by hearing.
    shown = [span for span in spans if span.name == "gateway.show"]
    assert {by_id[span.parent].name for span in shown} <= {"gateway.act", "gateway.hear"}
    assert len({span.instance for span in shown}) == len(shown) == 2
    assert {span.service for span in spans} == {"omnipoly-gateway", "omnipoly-table"}
    (rolled,) = [span for span in spans if span.name == "table.roll"]
    assert rolled.attributes["outcome"] == "ok"
    assert carried == f"00-{TRACE}-{rolled.id}-01"
    # At a ratio of 0 nothing but what its client has asked for.
    assert {span.trace for span in traces.spans} == {TRACE}
