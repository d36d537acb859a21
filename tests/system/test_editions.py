"""Editions of one's own on a running platform: given as a folder, listed, played, and found out when they are wrong."""

from __future__ import annotations

from pathlib import Path

from omnipoly.client import exports, verify
from omnipoly.editions import loader
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, lobby_pb2_grpc
from tests.editions import making
from tests.system import games
from tests.system.conftest import MakeStack
from tests.system.stack import call


async def _require_fair(followed: games.Followed) -> None:
    """The game replays from the edition's text that is kept with it, and its dice are the seed's."""
    exported = exports.read(await followed.session.games.export(followed.table))
    verdict = verify.check(exported.game, exported.log)
    assert verdict.holds, verdict.problems
    assert verdict.commits == followed.replica.version


async def test_a_folder_of_editions_is_played(make_stack: MakeStack, tmp_path: Path) -> None:
    nowhere = making.nowhere(tmp_path)
    making.short(tmp_path)
    stack = make_stack("--editions", str(tmp_path), "--replicas", "trade=0", "--replicas", "presence=0")
    async with games.game(stack.gateway, edition="nowhere", rounds=8) as followed:
        session = followed.session
        listed = {edition.id: edition for edition in await session.lobby.editions()}
        assert {"nowhere", "short/plain", "short/fast", *loader.shipped()} == set(listed)
        assert listed["nowhere"].digest == loader.load(nowhere).digest
        stub = lobby_pb2_grpc.LobbyServiceStub(session.calls.connection.channel)
        request = lobby_pb2.GetEditionRequest(edition="short/fast")
        shown = (await session.calls.call(stub.GetEdition, request)).edition
        assert [text.text for text in shown.boards[0].texts] == ["You find 1 penny.", "You lose 30 pence."]
        await followed.end()
        await _require_fair(followed)
        told = [line.text async for line in session.games.record(followed.table)]
        assert told[0].startswith("The table is opened for Middle of Nowhere; ")
        assert any("€" in line for line in told)
    async with games.game(stack.gateway, edition="short/fast", bots=3, rounds=5) as followed:
        await followed.end()
        assert followed.replica.state.rules.speed_die
        await _require_fair(followed)


async def test_an_edition_that_is_wrong_is_found_out_at_the_start(data_folder: Path, tmp_path: Path) -> None:
    path = making.short(tmp_path)
    path.write_text(path.read_text("utf-8").replace('kind = "parking"', 'kind = "park"'), "utf-8")
    ended = await call("up", "--ephemeral", "--data", str(data_folder), "--port", "0", "--editions", str(tmp_path))
    assert ended.code == 1
    assert "short.toml: board small, field 11 \"Park\": kind cannot be 'park'" in ended.errors
