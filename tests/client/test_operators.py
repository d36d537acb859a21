"""Operators, wallets, results and exports through the gateway, with the Python client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from omnipoly.client import Client, Refused, Session, exports, verify
from omnipoly.client.happenings import Happened
from omnipoly.rules import actions as act
from omnipoly.rules import events
from omnipoly.rules.state import Out, Phase
from omnipoly.wire.gen.game.v1 import platform_pb2, table_pb2
from omnipolyd.gateway.tokens import issue
from tests.services.bots.stack import KEY, Stack

Ask = Callable[[Session], Awaitable[Any]]


def somebody(client: Client, person: str, *roles: str) -> Session:
    """Somebody with an account, and roles."""
    return client.with_token(issue(KEY.get_secret_value(), person, "Somebody", roles=roles, lifetime_s=600))


@pytest.fixture
def root(client: Client) -> Session:
    return somebody(client, "oidc:root", "admin")


async def refused(asked: Awaitable[Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        await asked
    return caught.value


async def over(client: Client) -> tuple[Session, str]:
    """A host, and their table, whose game is over."""
    host = await client.sign_in_guest("Ann")
    table = await host.lobby.create("tubbypoly")
    await host.lobby.add_bot(table)
    await host.lobby.start(table)
    await host.lobby.leave(table)
    return host, table


CALLS: dict[str, Ask] = {
    "inspect": lambda s: s.admin.inspect("t"),
    "close": lambda s: s.admin.close("t"),
    "freeze": lambda s: s.admin.freeze("t"),
    "thaw": lambda s: s.admin.thaw("t"),
    "reload": lambda s: s.admin.reload("t"),
    "export": lambda s: s.admin.export("t"),
    "remove": lambda s: s.admin.remove("t", 0),
    "grant": lambda s: s.admin.grant("oidc:x", 5),
    "ban": lambda s: s.admin.ban("oidc:x"),
    "unban": lambda s: s.admin.unban("oidc:x"),
    "set_roles": lambda s: s.admin.set_roles("oidc:x", ["admin"]),
    "person": lambda s: s.admin.person("oidc:x"),
    "audit": lambda s: anext(aiter(s.admin.audit())),
}


@pytest.mark.parametrize("what", CALLS)
async def test_who_has_no_role_is_turned_away_and_fills_no_log(client: Client, root: Session, what: str) -> None:
    for nobody in (await client.sign_in_guest("Eve"), somebody(client, "oidc:eve"), somebody(client, "bots", "bots")):
        said = await refused(CALLS[what](nobody))
        assert (said.status.name, said.code) == ("PERMISSION_DENIED", "not_admin")
    assert not [row async for row in root.admin.audit() if row.by in ("oidc:eve", "bots") or row.by.startswith("guest")]


@pytest.mark.parametrize("what", CALLS)
async def test_who_only_looks_changes_nothing(client: Client, what: str, root: Session) -> None:
    """The roles are those of the token; what they allow is the table of them, and the refusal is written down."""
    watchman = somebody(client, f"oidc:watchman-{what}", "read_only")
    may = what in ("inspect", "export", "person", "audit")
    try:
        await CALLS[what](watchman)
    except Refused as said:
        code = said.code
    else:
        code = "ok"
    assert (code != "not_admin") == may
    rows = [row async for row in root.admin.audit(by=f"oidc:watchman-{what}")]
    assert [list(row.roles) for row in rows] == [["read_only"]]
    assert rows[0].outcome == code


async def test_a_table_is_frozen_before_everybodys_eyes(client: Client, root: Session) -> None:
    host = await client.sign_in_guest("Ann")
    table = await host.lobby.create("tubbypoly")
    await host.lobby.add_bot(table)
    await host.lobby.start(table)
    async with host.play() as play:
        replica = await play.follow(table)
        feed = aiter(play)
        standing = await root.admin.freeze(table, reason="somebody cheats")
        assert standing.status == table_pb2.TABLE_STATUS_FROZEN
        while not replica.state.frozen_ms:
            await anext(feed)
        left_s = replica.left_s(0)
        assert left_s is not None
        assert (await refused(play.act(table, act.Roll()))).code == "paused"
        assert replica.left_s(0) == left_s
        inspected = await root.admin.inspect(table)
        assert (inspected.status, inspected.version) == (table_pb2.TABLE_STATUS_FROZEN, standing.version)
        assert not inspected.HasField("next_deadline")
        await root.admin.thaw(table)
        while replica.state.frozen_ms:
            await anext(feed)
        await play.act(table, act.Roll())
    record = [line.text async for line in host.games.record(table)]
    assert any("frozen the table" in line for line in record)
    assert any("frozen no longer" in line for line in record)
    assert [(row.what, row.note) async for row in root.admin.audit(table=table)][:3] == [
        ("ListAudit", ""),
        ("FreezeTable", "thaw"),
        ("InspectTable", ""),
    ]


async def test_a_player_is_removed_and_the_table_closed(client: Client, root: Session) -> None:
    """TUB-REMOVE, TUB-CLOSE: told to who plays there at once, by the answer itself."""
    host = await client.sign_in_guest("Ann")
    table = await host.lobby.create("tubbypoly")
    bob = await client.sign_in_guest("Bob")
    await bob.lobby.join(table)
    await host.lobby.add_bot(table)
    await host.lobby.start(table)
    async with host.play() as play:
        replica = await play.follow(table)
        feed = aiter(play)
        answer = await root.admin.remove(table, 1, reason="rude")
        while replica.version < answer.version:
            await anext(feed)
        assert replica.state.out[1] == Out.REMOVED
        closed = await root.admin.close(table, reason="late", command_id="close-it")
        assert (await root.admin.close(table, command_id="close-it")).duplicate
        kinds: list[type] = []
        async for happening in feed:
            if isinstance(happening, Happened) and happening.commit.version == closed.version:
                kinds = [type(event) for event in happening.commit.events]
                break
        assert events.GameEnded in kinds
        assert replica.state.phase is Phase.OVER
    assert (await refused(root.admin.close(table))).code == "table_closed"


async def test_persons_are_looked_up_banned_and_given_roles(client: Client, root: Session) -> None:
    guest = await client.sign_in_guest("Mallory")
    await root.admin.grant(guest.person, 3)
    found = await root.admin.person(guest.person)
    assert (found.person.name, found.person.guest, found.balance) == ("Mallory", True, 3)
    until = datetime.now(UTC) + timedelta(hours=1)
    banned = await root.admin.ban(guest.person, until=until, reason="a quarrel")
    assert abs(banned.banned_until.ToDatetime(UTC) - until) < timedelta(milliseconds=1)
    assert (banned.ban_reason, (await root.admin.unban(guest.person)).HasField("banned_until")) == ("a quarrel", False)
    assert list((await root.admin.set_roles(guest.person, ["moderator"], reason="new")).roles) == ["moderator"]
    rows = [(row.what, row.note, row.outcome) async for row in root.admin.audit(person=guest.person)]
    assert [row for row in rows if row[0] != "ListAudit"] == [
        ("SetRoles", "moderator: new", "ok"),
        ("Ban", "lift", "ok"),
        ("Ban", f"ban until {_iso(until)}: a quarrel", "ok"),
        ("GetPerson", "", "ok"),
        ("Grant", "+3", "ok"),
    ]
    assert (await refused(root.admin.person("oidc:nobody"))).status.name == "NOT_FOUND"


def _iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


async def test_a_paid_game_from_wallet_to_wallet(client: Client, root: Session) -> None:
    """RUG-WIN through the public face: a grant, a refusal that names who lacks, a game, the prize, the ledger."""
    ann, bob = somebody(client, "oidc:ann", ""), somebody(client, "oidc:bob", "")
    assert await ann.wallet.balance() == 0
    await root.admin.grant("oidc:ann", 50, note="welcome")
    table = await ann.lobby.create("rugpull", options=act.SetOptions(entry_fee=20))
    await bob.lobby.join(table, name="Bob")
    said = await refused(ann.lobby.start(table))
    assert said.code == "insufficient_credits"
    assert said.sentence.endswith(": Bob.")
    await root.admin.grant("oidc:bob", 20)
    await ann.lobby.start(table)
    assert (await ann.wallet.balance(), await bob.wallet.balance()) == (30, 0)
    assert (await refused((await client.sign_in_guest("Eve")).lobby.join(table))).code == "table_started"
    await ann.lobby.leave(table)
    assert (await ann.wallet.balance(), await bob.wallet.balance()) == (30, 40)
    lines = [(line.reason, line.amount, line.balance, line.table, line.note) async for line in ann.wallet.ledger()]
    assert lines == [
        (platform_pb2.CREDIT_REASON_ENTRY_FEE, -20, 30, table, ""),
        (platform_pb2.CREDIT_REASON_GRANT, 50, 50, "", "welcome"),
    ]
    assert [line.amount async for line in bob.wallet.ledger()] == [40, -20, 20]


async def test_a_guest_sits_at_no_paid_table(client: Client) -> None:
    host = somebody(client, "oidc:host")
    table = await host.lobby.create("rugpull", options=act.SetOptions(entry_fee=20))
    guest = await client.sign_in_guest("Eve")
    assert (await refused(guest.lobby.join(table))).code == "sign_in_required"
    opening = guest.lobby.create("rugpull", options=act.SetOptions(entry_fee=20))
    assert (await refused(opening)).code == "sign_in_required"


async def test_results_standings_and_exports(client: Client, root: Session) -> None:
    host, table = await over(client)
    (result,) = [one async for one in host.games.results(person=host.person)]
    assert (result.table, result.edition) == (table, "tubbypoly")
    assert [(seat.bot, seat.place) for seat in result.seats] == [(False, 2), (True, 1)]
    assert [one.table async for one in host.games.results(table=table, edition="tubbypoly")] == [table]
    # who left has not finished a game, and bots are ranked nowhere
    assert host.person not in {one.person async for one in host.games.leaderboard(edition="tubbypoly")}
    other = await client.sign_in_guest("Bob")
    second = await host.lobby.create("tubbypoly")
    await other.lobby.join(second)
    await host.lobby.start(second)
    await host.lobby.leave(second)
    (standing,) = [one async for one in host.games.leaderboard(edition="tubbypoly") if one.person == other.person]
    assert (standing.name, standing.games, standing.wins, standing.points) == ("Bob", 1, 1, 1)
    month = f"{datetime.now(UTC):%Y-%m}"
    assert other.person in {one.person async for one in host.games.leaderboard(month=month)}

    # anybody may check a game that is over, guests included
    export = await (await client.sign_in_guest("Eve")).games.export(table)
    exported = exports.read(exports.parse(exports.written(export)))
    assert exports.parse(exports.written(export, as_json=True)) == export
    assert verify.check(exported.game, exported.log).holds


async def test_a_game_that_goes_on_is_exported_by_operators_alone(client: Client, root: Session) -> None:
    host = await client.sign_in_guest("Ann")
    table = await host.lobby.create("tubbypoly")
    await host.lobby.add_bot(table)
    await host.lobby.start(table)
    assert (await refused(host.games.export(table))).code == "wrong_phase"
    export = await root.admin.export(table)
    assert exports.read(export).log[-1].version == (await host.lobby.view(table)).version
    assert (await refused(host.games.export("nowhere"))).code == "unknown_table"


async def test_a_private_games_export_asks_for_the_pin(client: Client) -> None:
    host = await client.sign_in_guest("Ann")
    table = await host.lobby.create("tubbypoly", pin="4711")
    await host.lobby.add_bot(table)
    await host.lobby.start(table)
    await host.lobby.leave(table)
    eve = somebody(client, "oidc:eve")
    assert (await refused(eve.games.export(table))).code == "wrong_pin"
    assert (await eve.games.export(table, pin="4711")).commits


async def test_requests_that_are_malformed(client: Client, root: Session, platform: Stack) -> None:
    for asked in (
        root.admin.inspect("A"),
        root.admin.close("t", command_id="a b"),
        root.admin.close("t", reason=301 * "x"),
        root.admin.grant("", 5),
        root.admin.grant("oidc:x", 0),
        anext(aiter(root.admin.audit(by="a b"))),
        anext(aiter(root.games.leaderboard(month="October"))),
        anext(aiter(root.games.results(person="a b"))),
        root.games.export("t" * 37),
    ):
        assert (await refused(asked)).code == "bad_request"
