"""TLS among services: both sides show a certificate, and nobody comes in without the right one."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from omnipoly.runtime import app, config
from omnipoly.runtime.errors import ConfigError, StartError
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import Link
from omnipoly.runtime.peers import Peers
from omnipoly.runtime.tls import Certificate
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipolyd.bots.config import BotsSettings
from omnipolyd.bots.service import BotsService
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.service import GatewayService
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from tests.services.conftest import MakeDatabase
from tests.services.playing import free_port
from tests.services.security.certificates import Authority, serial
from tests.services.waiting import eventually

HEADS = "/omnipoly.table.v1.TableService/Heads"
ASK = table_pb2.HeadsRequest(tables=["nobodys"]).SerializeToString()
REST = "database, nats, public"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path


def shown(authority: Authority, name: str, into: str = "") -> Certificate:
    cert, key = authority.issue(name, into=into)
    return Certificate("services", str(cert), str(key), str(authority.ca))


@pytest.fixture(scope="module")
async def table(authority: Authority, make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[app.App]:
    url = await make_module_database("omnipolyd.table.migrations")
    told = authority.settings("table", plaintext=REST, health_port=free_port())
    settings = TableSettings(database_url=url, nats_url=nats_url, port=0, **told)
    async with app.running(TableService(settings)) as running:
        yield running


async def asked(address: str, identity: Certificate | None, name: str = "") -> bytes:
    link = Link(address, identity=identity, name=name)
    try:
        return await link.call(HEADS, ASK, 5)
    finally:
        await link.close()


async def plainly(address: str, credentials: grpc.ChannelCredentials | None) -> None:
    """A plain RPC, as people with a gRPC tool make it. Raises ``AioRpcError``."""
    made = grpc.aio.insecure_channel(address) if credentials is None else grpc.aio.secure_channel(address, credentials)
    async with made as channel:
        await channel.unary_unary(HEADS)(ASK, timeout=5)


@pytest.mark.parametrize("name", ["gateway", "auction", "trade", "clock", "presence", "operator"])
async def test_who_may_call_does(table: app.App, authority: Authority, name: str) -> None:
    identity = shown(authority, name)
    await asked(table.address, identity)
    await plainly(table.address, identity.channel_credentials())


@pytest.mark.parametrize("name", ["bots", "table", "somebody"])
async def test_a_service_that_has_no_business_here_is_refused(table: app.App, authority: Authority, name: str) -> None:
    identity = shown(authority, name, into=f"intruder-{name}")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await plainly(table.address, identity.channel_credentials())
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    link = Link(table.address, identity=identity)
    with pytest.raises(Exception, match="may not call this"):
        await link.call(HEADS, ASK, 5)
    await link.close()


async def test_no_certificate_no_entrance(table: app.App, authority: Authority) -> None:
    credentials = grpc.ssl_channel_credentials(authority.ca.read_bytes())
    for given in (None, credentials):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await plainly(table.address, given)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_another_authoritys_certificate_is_none(table: app.App, authority: Authority, tmp_path: Path) -> None:
    """On either side: the server does not take it, nor a client of ours one that a server shows."""
    other = Authority(tmp_path / "other", "other")
    cert, key = other.issue("gateway")
    with pytest.raises(grpc.aio.AioRpcError):
        await plainly(
            table.address,
            grpc.ssl_channel_credentials(authority.ca.read_bytes(), key.read_bytes(), cert.read_bytes()),
        )
    mine, my_key = authority.issue("gateway")
    trusting_another = Certificate("services", str(mine), str(my_key), str(other.ca))
    peers = Peers(table.address, identity=trusting_another)
    async with peers:
        with pytest.raises(Failure) as caught:
            await peers.call("k", HEADS, ASK, 2, resend=True)
        assert caught.value.reason == "unavailable"


async def test_a_certificate_for_another_name_is_not_believed(table: app.App, authority: Authority) -> None:
    with pytest.raises(Exception, match="is not there"):
        await asked(table.address, shown(authority, "gateway"), name="somewhere.else")
    await asked(table.address, shown(authority, "gateway"), name="localhost")


async def test_names_are_looked_up_and_held_against_the_certificate(table: app.App, authority: Authority) -> None:
    port = table.address.rpartition(":")[2]
    async with Peers(f"dns:///localhost:{port}", identity=shown(authority, "gateway")) as peers:
        await peers.call("k", HEADS, ASK, 10, resend=True)
    # Known here by a name that it does not bear.
    async with Peers(f"dns:///{socket.gethostname()}:{port}", identity=shown(authority, "gateway")) as peers:
        with pytest.raises(Failure):
            await peers.call("k", HEADS, ASK, 1, resend=True)


async def presented(address: str) -> int:
    """The number of the certificate that a server shows now."""
    host, _, port = address.rpartition(":")
    pem = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))
    return serial(pem.encode())


async def test_what_is_renewed_is_shown_without_a_restart(
    authority: Authority, make_database: MakeDatabase, nats_url: str, tmp_path: Path
) -> None:
    first, second = Authority(tmp_path, "first"), Authority(tmp_path, "second")
    cert, key = first.issue("table")
    ca = tmp_path / "trusted.pem"
    ca.write_bytes(first.ca.read_bytes())
    url = await make_database("omnipolyd.table.migrations")
    told = {"tls_cert": str(cert), "tls_key": str(key), "tls_ca": str(ca), "plaintext": REST}
    async with app.running(TableService(TableSettings(database_url=url, nats_url=nats_url, port=0, **told))) as table:
        mine, my_key = first.issue("gateway")
        identity = Certificate("services", str(mine), str(my_key), str(ca))
        link = Link(table.address, identity=identity)
        await link.call(HEADS, ASK, 5)
        begun = await presented(table.address)
        # Half of a renewal is not taken.
        kept = cert.read_bytes()
        second.issue("table", into="half")
        cert.write_bytes((tmp_path / "half.pem").read_bytes())
        assert await presented(table.address) == begun
        cert.write_bytes(kept)
        # Another authority, both trusted for a while; then everybody's certificates.
        ca.write_bytes(first.ca.read_bytes() + second.ca.read_bytes())
        second.issue("table")
        await eventually(lambda: _changed(table.address, begun))
        await link.call(HEADS, ASK, 5)  # on the connection that it has
        await asked(table.address, identity)
        second.issue("gateway")
        ca.write_bytes(second.ca.read_bytes())
        await asked(table.address, identity)
        old, old_key = first.issue("gateway", into="old")
        outdated = grpc.ssl_channel_credentials(second.ca.read_bytes(), old_key.read_bytes(), old.read_bytes())
        with pytest.raises(grpc.aio.AioRpcError):
            await plainly(table.address, outdated)
        await link.close()


async def _changed(address: str, before: int) -> bool:
    return await presented(address) != before


async def test_a_link_takes_up_what_was_renewed_when_it_connects_again(
    authority: Authority, make_database: MakeDatabase, nats_url: str, tmp_path: Path
) -> None:
    """Of a caller whose old certificate would not be taken any more."""
    first, second = Authority(tmp_path, "first"), Authority(tmp_path, "second")
    url, port = await make_database("omnipolyd.table.migrations"), free_port()
    mine, my_key = first.issue("gateway")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(first.ca.read_bytes())
    link = Link(f"127.0.0.1:{port}", identity=Certificate("services", str(mine), str(my_key), str(trusted)))
    for signing in (first, second):
        cert, key = signing.issue("table")
        told = {"tls_cert": str(cert), "tls_key": str(key), "tls_ca": str(signing.ca), "plaintext": REST}
        settings = TableSettings(database_url=url, nats_url=nats_url, port=port, drain_s=1, **told)
        async with app.running(TableService(settings)):

            async def answers() -> bool:
                try:
                    await link.call(HEADS, ASK, 5)
                except Exception:  # noqa: BLE001 - not yet connected again
                    return False
                return True

            await eventually(answers)
        second.issue("gateway")
        trusted.write_bytes(second.ca.read_bytes())
    await link.close()


async def test_health_is_asked_for_without_a_certificate_on_a_port_of_its_own(table: app.App) -> None:
    address = f"127.0.0.1:{table.settings.health_port}"
    async with grpc.aio.insecure_channel(address) as channel:
        check: Any = health_pb2_grpc.HealthStub(channel).Check
        answer = await check(health_pb2.HealthCheckRequest(), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary(HEADS)(ASK, timeout=10)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


# --- what is not told does not start


@pytest.mark.parametrize(
    ("service", "settings", "sentence"),
    [
        (TableService, TableSettings(plaintext=""), "services' certificate is missing"),
        (TableService, TableSettings(plaintext="public"), "services' certificate is missing"),
        (
            TableService,
            TableSettings(plaintext="services, nats", database_url="postgresql://o:p@db/x"),
            "sslmode=verify-full",
        ),
        (
            TableService,
            TableSettings(plaintext="services, nats", database_url="postgresql://o:p@db/x?sslmode=require"),
            "sslmode=verify-full",
        ),
        (
            BotsService,
            BotsSettings(plaintext="services", nats_url="nats://n:4222"),
            "TLS to NATS",
        ),
        (GatewayService, GatewaySettings(plaintext="services"), "gateway's certificate is missing"),
        (
            GatewayService,
            GatewaySettings(plaintext="services", public_tls_cert="/nowhere", public_tls_key="/nowhere"),
            "cannot be used",
        ),
    ],
)
async def test_neither_certificate_nor_plain_text(service: Any, settings: Any, sentence: str) -> None:
    with pytest.raises(StartError, match=sentence):
        async with app.running(service(settings)):
            raise AssertionError("it has started")


def test_places_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIPOLY_PLAINTEXT", "everywhere")
    with pytest.raises(ConfigError, match="OMNIPOLY_PLAINTEXT"):
        config.read_settings(TableSettings)
