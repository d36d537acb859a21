"""NATS over TLS, each service by its certificate and with no more rights than it needs: a game is played under them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import nats
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import app, bus
from omnipoly.runtime.bus import Bus
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.tls import Certificate
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from omnipolyd.bots import BotsService, BotsSettings
from omnipolyd.clock.config import ClockSettings
from omnipolyd.clock.service import ClockService
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.service import GatewayService
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from omnipolyd.roles import ROLES
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import SECRET, Client, Stack, game
from tests.services.security.brokers import FOLDER, Broker, broker
from tests.services.security.certificates import Authority
from tests.services.waiting import eventually


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def secured(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """With the operators' nats.conf."""
    cert, key = authority.issue("nats")
    files = {"NATS_TLS_CERT": str(cert), "NATS_TLS_KEY": str(key), "NATS_TLS_CA": str(authority.ca)}
    with broker(tmp_path_factory.mktemp("nats"), "nats.conf", **files) as running:
        yield running


@pytest.fixture(scope="module")
def by_password(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """With the operators' passwords.conf."""
    passwords = {f"NATS_{role.upper()}_PASSWORD": f"of-{role}" for role in ROLES}
    with broker(tmp_path_factory.mktemp("nats"), "passwords.conf", **passwords) as running:
        yield running


def shown(authority: Authority, name: str, into: str = "") -> Certificate:
    cert, key = authority.issue(name, into=into)
    return Certificate("services", str(cert), str(key), str(authority.ca))


def bus_errors() -> float:
    return sum(sample.value for family in bus.ERRORS.collect() for sample in family.samples)


@pytest.fixture(params=["certificates", "passwords"])
async def platform(
    request: pytest.FixtureRequest, authority: Authority, make_database: MakeDatabase
) -> AsyncIterator[Any]:
    """All seven services, each as itself: everything over TLS; or NATS by passwords and all in plain text."""
    url = await make_database("omnipolyd.table.migrations")
    by_certificate = request.param == "certificates"
    server: Broker = request.getfixturevalue("secured" if by_certificate else "by_password")

    def told(name: str, **more: Any) -> dict[str, Any]:
        if not by_certificate:
            return {"nats_url": f"nats://{name}:of-{name}@{server.address}", "port": 0, "plaintext": "all", **more}
        secure = authority.settings(name, plaintext="database")
        return {"nats_url": f"tls://{server.address}", "port": 0, **secure, **more}

    async with AsyncExitStack() as up:

        async def run(service: app.Service) -> app.App:
            return await up.enter_async_context(app.running(service))

        table = await run(TableService(TableSettings(**told("table", database_url=url, dev=True, open_tables=100))))
        at = {"table_addr": table.address}
        auction = await run(AuctionService(AuctionSettings(**told("auction", **at))))
        trade = await run(TradeService(TradeSettings(**told("trade", **at))))
        await run(ClockService(ClockSettings(**told("clock", **at))))
        presence = await run(PresenceService(PresenceSettings(**told("presence", **at))))
        at |= {"auction_addr": auction.address, "trade_addr": trade.address, "presence_addr": presence.address}
        public: dict[str, Any] = {}
        if by_certificate:
            cert, key = authority.issue("play.example.com", hosts=("play.example.com",), into="public")
            public = {"public_tls_cert": str(cert), "public_tls_key": str(key)}
        service = GatewayService(
            GatewaySettings(
                **told("gateway", session_key=SECRET, commands_per_second=1000, commands_burst=1000, **at, **public)
            )
        )
        gateway = await run(service)
        more: dict[str, Any] = {"gateway_addr": gateway.address, "session_key": SECRET, "bots_thinking_s": 0}
        if by_certificate:
            more |= {"gateway_ca": str(authority.ca), "gateway_name": "play.example.com"}
        await run(BotsService(BotsSettings(**told("bots", **more))))
        yield Stack(table, gateway, service), server, authority if by_certificate else None


def client(stack: Stack, authority: Authority | None, person: str) -> Client:
    """Somebody at the gateway, over TLS by its public name where it speaks it."""
    token = stack.token(person, person.partition(":")[2].title(), guest=person.startswith("guest:"))
    if authority is None:
        return Client(stack.gateway.address, token)
    return Client(stack.gateway.address, token, ca=authority.ca, name="play.example.com")


async def test_a_game_is_played_under_least_rights(platform: tuple[Stack, Broker, Authority | None]) -> None:
    """Of bots, before a viewer; and at another table two people throw, bid, offer, write, and one of them goes."""
    stack, server, authority = platform
    errors, violations = bus_errors(), server.log.count("Violation")
    ann, bob, vic = (client(stack, authority, person) for person in ("guest:ann", "guest:bob", "oidc:vic"))
    async with ann, bob, vic:
        bots = await ann.create("rugpull", unseated=True)
        for _ in range(3):
            await ann.act(bots, act.AddBot())
        watching = vic.watch(bots)
        await watching.next("progress")
        await ann.act(bots, act.Start())
        # What is published is heard, each version, in order: the bots play on what they hear.
        seen = await watching.up_to(40)
        assert [commit.version for commit in seen] == list(range(seen[0].version, seen[-1].version + 1))

        table = await game(ann, bob, edition="rugpull")
        stream = bob.play()
        await stream.follow(table)
        await stream.next("progress")
        await ann.act(table, act.Roll())
        for person, action in (
            (ann, act.Decline()),
            (bob, act.Bid(1, 10)),
            (ann, act.Pass(1)),
            (bob, act.Offer(0, act.Side(cash=1), act.Side(cash=2))),
        ):
            with contextlib.suppress(Failure):  # as the throw may be
                await person.act(table, action)
        await ann.act(table, act.Leave())
        await stream.next("commit")
    assert bus_errors() == errors
    assert server.log.count("Violation") == violations


# --- what is forbidden


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        *(
            (role, subject)
            for role in ROLES
            if role != "table"
            for subject in ("omnipoly.table.x", "omnipoly.accounts")
        ),
        ("table", "$KV.omnipoly_presence.x"),
        ("table", "omnipoly.other"),
        ("presence", "$JS.API.STREAM.DELETE.KV_omnipoly_presence"),
        ("presence", "$JS.API.STREAM.PURGE.KV_omnipoly_presence"),
        ("presence", "$JS.API.STREAM.CREATE.OMNIPOLY_TABLES"),
        ("table", "$JS.API.STREAM.DELETE.OMNIPOLY_TABLES"),
        ("table", "$JS.API.STREAM.PURGE.OMNIPOLY_TABLES"),
        ("gateway", "$SYS.REQ.SERVER.PING"),
    ],
)
async def test_what_a_service_may_not_publish(by_password: Broker, role: str, subject: str) -> None:
    await _forbidden(by_password, role, lambda client: client.publish(subject, b"x"))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("subject", [">", "omnipoly.>", "_INBOX.>", "$KV.>", "$SYS.>", "_INBOX.somebody.x"])
async def test_what_a_service_may_not_hear(by_password: Broker, role: str, subject: str) -> None:
    await _forbidden(by_password, role, lambda client: client.subscribe(subject))


async def _forbidden(server: Broker, role: str, what: Any) -> None:
    said: asyncio.Queue[Exception] = asyncio.Queue()
    client = await nats.connect(
        f"nats://{role}:of-{role}@{server.address}", error_cb=said.put, inbox_prefix=f"_INBOX.{role}"
    )
    try:
        await what(client)
        async with asyncio.timeout(10):
            assert "permissions violation" in str(await said.get()).lower()
    finally:
        await client.close()


def test_every_service_has_rights_and_a_user() -> None:
    for file, named in (("nats.conf", '"CN={}"'), ("passwords.conf", "user: {},")):
        text = (FOLDER / file).read_text("utf-8")
        assert [role for role in ROLES if named.format(role) not in text or f"${role.upper()}_MAY" not in text] == []
    rights = re.findall(r"^([A-Z]+)_MAY \{", (FOLDER / "permissions.conf").read_text("utf-8"), re.MULTILINE)
    assert sorted(rights) == sorted(role.upper() for role in ROLES)


# --- TLS


async def connects(server: Broker, context: ssl.SSLContext | None, within_s: float = 3) -> bool:
    connected = Bus(f"tls://{server.address}", name="t", context=context, inbox="_INBOX.table")
    await connected.start()
    try:
        await connected.wait_connected(within_s)
    except TimeoutError:
        return False
    finally:
        await connected.close()
    return True


async def test_only_a_certificate_of_our_authority_gets_in(
    secured: Broker, by_password: Broker, authority: Authority, tmp_path: Path
) -> None:
    assert await connects(secured, shown(authority, "table").context())
    other = Authority(tmp_path, "other")
    theirs = Certificate("services", *(str(file) for file in other.issue("table")), str(authority.ca))
    for name, context in {
        "nobody's name": shown(authority, "somebody").context(),
        "another authority's": theirs.context(),
        "a server of ours that they do not know": shown(authority, "table").context(str(other.ca)),
        "none": ssl.create_default_context(cafile=str(authority.ca)),
        "plain text": None,
    }.items():
        assert not await connects(secured, context, 1), name
    # A server that would talk in plain text is not talked to by who speaks TLS.
    assert not await connects(by_password, shown(authority, "table").context(), 1)


async def test_renewed_certificates_are_shown_to_nats_at_the_next_connection(
    authority: Authority, tmp_path: Path
) -> None:
    first, second = Authority(tmp_path, "first"), Authority(tmp_path, "second")
    cert, key = first.issue("nats")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(first.ca.read_bytes())
    files = {"NATS_TLS_CERT": str(cert), "NATS_TLS_KEY": str(key), "NATS_TLS_CA": str(trusted)}
    mine = tmp_path / "mine.pem"
    mine.write_bytes(first.ca.read_bytes())
    own = Certificate("services", *(str(file) for file in first.issue("table")), str(mine))
    with broker(tmp_path / "nats", "nats.conf", **files) as server:
        connected = Bus(f"tls://{server.address}", name="t", context=own.context(), inbox="_INBOX.table")
        await connected.start()
        await connected.wait_connected(20)
        before = connected.connects
        second.issue("nats")
        second.issue("table")
        for file in (trusted, mine):
            file.write_bytes(second.ca.read_bytes())
        server.reload()
        assert connected._client is not None
        await connected._client._process_op_err(ConnectionError("cut"))
        await eventually(lambda: connected.connects > before)
        await connected.flush()
        await connected.close()
