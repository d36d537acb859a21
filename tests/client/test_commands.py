"""The commands that talk to a gateway, as processes of their own against real services."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from omnipoly.client import Client, exports
from omnipoly.client.decisions import choose
from omnipoly.rules import actions as act
from omnipoly.rules.state import Phase
from omnipoly.runtime.app import running
from omnipolyd.gateway.tokens import issue
from tests.services.bots.stack import KEY, Stack, bots
from tests.services.waiting import eventually

PROGRAM = (sys.executable, "-c", "from omnipoly.cli import main; main()")


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


async def command(*arguments: object, typed: str = "") -> Done:
    """Run `omnipoly` to its end, with something on its standard input."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *map(str, arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(90):
            out, err = await process.communicate(typed.encode())
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
        raise AssertionError(f"it did not end: {out.decode()}{err.decode()}") from None
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
async def gateway(platform: Stack) -> AsyncIterator[str]:
    """The address of a gateway whose tables have bots that play."""
    async with running(bots(platform)):
        yield platform.gateway.address


async def finished(client: Client, *, edition: str = "rugpull") -> str:
    """A table whose game bots have played to its end."""
    session = await client.sign_in_guest("Host")
    table = await session.lobby.create(edition, options=act.SetOptions(round_limit=2), unseated=True)
    for _ in range(3):
        await session.lobby.add_bot(table)
    await session.lobby.start(table)

    async def over() -> bool:
        return (await session.lobby.view(table)).state.phase is Phase.OVER

    await eventually(over)
    return table


def viewer() -> str:
    return issue(KEY.get_secret_value(), "oidc:vic", "Vic", lifetime_s=600)


async def test_a_game_is_played_from_a_script(gateway: str) -> None:
    done = await command(
        *("play", "--gateway", gateway, "--edition", "rugpull", "--bots", "2", "--round-limit", "2", "--name", "Ann"),
        typed="look\n" + "1\n" * 300,
    )
    assert done.code == 0, done
    assert "You are at the table" in done.out
    assert "Your choice (60 s):" in done.out or "Your choice (59 s):" in done.out
    assert "  1  roll" in done.out
    assert "Ann throws" in done.out
    assert "The game is over: the last round is over." in done.out
    assert "net worth" in done.out
    assert not done.err


async def test_what_is_typed_wrongly_is_answered_and_the_end_of_the_input_is_the_end(gateway: str) -> None:
    done = await command(
        *("play", "--gateway", gateway, "--edition", "tubbypoly", "--bots", "1"),
        typed="99\nfly\nbuild 3\nmortgage\nmore\nsay hello\nroll\n",
    )
    assert done.code == 0, done
    assert "there is no choice 99" in done.out
    assert "'fly' is nothing one can do here" in done.out
    assert "mortgage needs field" in done.out
    assert "propose end" in done.out
    assert "Guest throws for the order of play" in done.out


async def test_two_persons_meet_at_a_table(platform: Stack, client: Client) -> None:
    address = platform.gateway.address
    ann = await client.sign_in_guest("Ann")
    table = await ann.lobby.create("laspoly", options=act.SetOptions(round_limit=1))
    joining = asyncio.create_task(
        command("play", table, "--gateway", address, "--name", "Bob", typed="start\n" + "1\n" * 100)
    )

    async def two() -> bool:
        return (await ann.lobby.view(table)).state.name == ["Ann", "Bob"]

    await eventually(two)
    await ann.lobby.start(table)
    async with ann.play() as play:
        replica = await play.follow(table)
        feed = aiter(play)
        while replica.state.phase is not Phase.OVER:
            kept = replica.prompt
            if kept is None:
                await anext(feed)
            else:
                await play.act(table, choose(kept[1][0]), prompt=kept[0].prompt)
    done = await joining
    assert done.code == 0, done
    seated = "Seated: Ann, Bob. The host starts the game by typing start." in done.out
    # where the host was quicker, the board is what is shown first
    assert seated or re.search(r"Ann +\d+ LPD", done.out)
    assert "Only the host may do that." in done.out or "This game has started already." in done.out
    assert "Bob throws" in done.out
    assert "Places: " in done.out


async def test_a_table_is_watched_to_its_end(gateway: str, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    table = await session.lobby.create("laspoly", options=act.SetOptions(round_limit=2), unseated=True)
    watching = asyncio.create_task(command("watch", table, "--gateway", gateway, "--token", viewer()))
    for _ in range(3):
        await session.lobby.add_bot(table)
    await session.lobby.start(table)
    done = await watching
    assert done.code == 0, done
    assert "net worth" in done.out
    again = await command("watch", table, "--gateway", gateway, "--token", viewer())
    assert again.code == 0
    assert "net worth" in again.out
    guest = await command("watch", table, "--gateway", gateway)
    assert (guest.code, guest.err) == (1, "omnipoly: Sign in first. (sign_in_required)\n") or "ign" in guest.err


async def test_a_game_is_checked_from_the_server_and_from_a_file(gateway: str, client: Client, tmp_path: Path) -> None:
    table = await finished(client)
    kept = tmp_path / "game.export"
    done = await command("verify", table, "--gateway", gateway, "--token", viewer(), "--save", kept)
    assert done.code == 0, done
    assert "every one of them is the seed's" in done.out
    again = await command("verify", kept)
    assert (again.code, again.out) == (0, done.out)

    forged = exports.parse(kept.read_bytes())
    thrown = next(
        event for commit in forged.commits for event in commit.events if event.WhichOneof("kind") == "dice_thrown"
    )
    thrown.dice_thrown.dice[0] = 7 - thrown.dice_thrown.dice[0]
    kept.write_bytes(forged.SerializeToString())
    found = await command("verify", kept)
    assert found.code == 1
    assert "the seed gives" in found.out
    kept.write_bytes(b"no game")
    assert (await command("verify", kept)).code == 2


@pytest.mark.parametrize("name", ["game.export", "game.json"])
async def test_a_game_is_exported_told_and_checked_without_a_server(
    gateway: str, client: Client, tmp_path: Path, name: str
) -> None:
    table = await finished(client)
    kept = tmp_path / name
    done = await command("export", table, kept, "--gateway", gateway)
    assert done.code == 0, done
    assert done.out.startswith(f"{kept}: ")
    told, again = await asyncio.gather(command("replay", kept), command("verify", kept))
    assert (told.code, again.code) == (0, 0), (told, again)
    watched = await command("watch", table, "--gateway", gateway, "--token", viewer())
    assert watched.out.strip().splitlines()[-1] == told.out.strip().splitlines()[-1]
    record = [line.text async for line in client.with_token(viewer()).games.record(table)]
    lines = told.out.splitlines()
    assert lines[: len(record)] == record
    assert "every one of them is the seed's" in again.out

    forged = exports.parse(kept.read_bytes())
    del forged.commits[3]
    kept.write_bytes(exports.written(forged))
    broken = await command("replay", kept)
    assert (broken.code, broken.err) == (1, f"omnipoly: {kept}: commit 4 is missing\n")
    nowhere = await command("export", table, tmp_path / "no" / "folder", "--gateway", gateway)
    assert (nowhere.code, nowhere.err) == (2, f"omnipoly: {tmp_path}/no/folder: No such file or directory\n")


async def test_who_stands_where_and_what_was_played_are_listed(gateway: str, client: Client) -> None:
    ann, bob = await client.sign_in_guest("Ann"), await client.sign_in_guest("Bob [the second]")
    table = await ann.lobby.create("laspoly")
    await bob.lobby.join(table)
    await ann.lobby.start(table)
    await ann.lobby.leave(table)
    ranked = await command("leaderboard", "--gateway", gateway, "--edition", "laspoly")
    assert ranked.code == 0, ranked
    (row,) = (line for line in ranked.out.splitlines() if bob.person in line)
    assert row.split() == ["1", "Bob", "[the", "second]", "1", "1", "1", bob.person]
    played = await command("history", "--gateway", gateway, "--person", bob.person)
    assert played.code == 0, played
    (row,) = (line for line in played.out.splitlines() if table in line)
    assert "laspoly" in row
    assert "last standing" in row
    assert "1. Bob [the second], 2. Ann" in row
    nothing = await command("history", "--gateway", gateway, "--person", "oidc:nobody")
    assert nothing.out == "No such game has been finished yet.\n"
    nobody = await command("leaderboard", "--gateway", gateway, "--month", "2001-01")
    assert nobody.out == "Nobody has finished such a game yet.\n"
    wrong = await command("leaderboard", "--gateway", gateway, "--month", "January")
    assert (wrong.code, wrong.err) == (1, "omnipoly: A month is written 2026-10. (bad_request)\n")


async def test_a_game_that_goes_on_cannot_be_checked(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    table = await session.lobby.create("rugpull")
    done = await command("verify", table, "--gateway", platform.gateway.address, "--token", viewer())
    assert done.code == 1
    assert done.err == "omnipoly: A game is exported once it is over. (wrong_phase)\n"


async def test_scenarios_are_played_on_a_stack(platform: Stack) -> None:
    address = platform.gateway.address
    done = await command("scenario", "run", "--gateway", address, "tests/scenarios/shared/core.yaml")
    assert done.code == 0, done
    assert "hold" in done.out


@pytest.mark.parametrize("arguments", [("play",), ("watch", "t"), ("verify", "t"), ("scenario", "run", "x.yaml")])
async def test_a_gateway_that_is_not_there_is_one_sentence(arguments: tuple[str, ...]) -> None:
    done = await command(*arguments, "--gateway", "127.0.0.1:1")
    assert done.code in (1, 2)
    assert done.err.startswith("omnipoly: 127.0.0.1:1: ")
    assert "Traceback" not in done.err
