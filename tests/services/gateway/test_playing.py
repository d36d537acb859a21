from __future__ import annotations

from omnipoly.rules import actions as act
from tests.services.gateway.calling import Client, Stack, game


async def test_a_game_begins(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    await stream.follow(table)
    snapshot = await stream.next("snapshot")
    assert snapshot.view.table == table
    assert (snapshot.resume.version, snapshot.resume.epoch) == (snapshot.view.version, snapshot.view.epoch)
    progress = await stream.next()
    assert progress.resume == snapshot.resume
    prompt = await stream.next("prompt")

    answer = await stream.act(table, act.Roll())

    assert answer.version == 4
