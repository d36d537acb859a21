from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

import omnipoly.wire.gen
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.runtime import roles
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link_server import METHOD as FRAMES
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Stack, gateway, unique_id
from tests.services.gateway.signing_in import oidc
from tests.services.hostile.methods import PACKAGE
from tests.services.hostile.stage import platform
from tests.services.issuer.running import Issuer
from tests.services.who import cells, write
from tests.services.who.cells import RPCS

ROWS = cells.read()
LAST = ("seat", "player", "host")
"""Whose calls change the table come last."""
IN_ORDER = (*(name for name in cells.CALLERS if name not in LAST), *LAST)


@pytest.fixture(scope="module")
async def running(
    make_module_database: MakeDatabase, nats_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    url = await make_module_database("omnipolyd.table.migrations")
    async with (
        Issuer(tmp_path_factory.mktemp("issuer")) as issuer,
        platform(url, nats_url, guests_watch=False, reflection=True, **oidc([issuer.settings()])) as stack,
    ):
        yield stack


@pytest.fixture(scope="module")
async def at_table(running: Stack) -> AsyncIterator[cells.Scene]:
    """A scene that nothing is changed in."""
    async with cells.scene(running) as scene:
        yield scene


def test_every_public_rpc_has_a_row() -> None:
    assert sorted(ROWS) == sorted(RPCS)


def test_the_page_says_what_the_table_says() -> None:
    assert write.PAGE.read_text("utf-8") == write.page(), "python -m tests.services.who.write"


def test_the_roles_are_those_of_the_services() -> None:
    rows = {rpc.partition(".")[2]: row for rpc, row in ROWS.items() if rpc.startswith("AdminService.")}
    assert {
        method: {role for role in roles.ROLES if row[role] == cells.YES} for method, row in rows.items()
    } == roles.MAY


def test_what_is_tried_is_there() -> None:
    for name, given in cells.GIVEN.items():
        assert set(given) <= set(RPCS[name].request.DESCRIPTOR.fields_by_name), name
    assert set(cells.FILL) | cells.BEFORE_START <= set(RPCS)


def test_what_the_rules_may_say_is_named_and_theirs() -> None:
    assert set(cells.RULED) == {rpc for rpc, row in ROWS.items() if cells.RULES in row.values()}
    said = set().union(*cells.RULED.values()) - {cells.DONE}
    assert said <= {code.value for code in Code}
    assert said.isdisjoint(("internal", "unavailable", "bad_request", "rate_limited", *cells.ABOUT_WHO))
    known = {cells.YES, cells.RULES, cells.KEY, *cells.ABOUT_WHO}
    assert {cell for row in ROWS.values() for cell in row.values()} == known


@pytest.mark.parametrize("wanted", [cells.YES, cells.RULES, cells.KEY, "not_seated"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (grpc.StatusCode.INTERNAL, "internal"),
        (grpc.StatusCode.UNKNOWN, ""),
        (grpc.StatusCode.UNAVAILABLE, "unavailable"),
        (grpc.StatusCode.INVALID_ARGUMENT, "bad_request"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited"),
        (grpc.StatusCode.INTERNAL, "not_seated"),
        (grpc.StatusCode.INTERNAL, "vote_open"),
        (grpc.StatusCode.FAILED_PRECONDITION, "wrong_phase"),
    ],
)
def test_what_is_no_answer_about_who_calls_fits_no_cell(wanted: str, status: grpc.StatusCode, reason: str) -> None:
    assert not cells.fits("PlayService.ProposeEnd", wanted, status, reason)


@pytest.mark.parametrize("name", ROWS)
async def test_each_caller(running: Stack, name: str) -> None:
    rpc, row = RPCS[name], ROWS[name]
    found = {}
    async with cells.scene(running, started=name not in cells.BEFORE_START) as scene:
        for caller in IN_ORDER:
            status, reason = await cells.outcome(rpc, scene, caller)
            if not cells.fits(name, row[caller], status, reason):
                found[caller] = f"{row[caller]} in the table, but {status.name} {reason}"
    assert not found


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if cells.KEY in row.values()])
@pytest.mark.parametrize("caller", ["nobody", "host", "admin"])
async def test_without_the_key_nobody_may(at_table: cells.Scene, name: str, caller: str) -> None:
    rpc = RPCS[name]
    request = rpc.request(request_id=unique_id("w"))
    for field in ("sign_in", "code", "state", "refresh_token"):
        if field in rpc.request.DESCRIPTOR.fields_by_name:
            setattr(request, field, "not the key")
    asked = at_table.callers[caller].raw(f"{rpc.service}/{rpc.method}", request.SerializeToString())
    if name == "SessionsService.Revoke":  # which says how many have ended
        assert rpc.response.FromString(await asked) == rpc.response(revoked=0)
        return
    with pytest.raises(Failure) as caught:
        await asked
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")


async def test_a_bot_is_played_by_the_platforms_bots_alone(running: Stack) -> None:
    async with cells.scene(running) as scene:
        holder = scene.ids["player"]
        for caller in cells.CALLERS[1:]:
            stream = scene.callers[caller].play()
            failure = await stream.refused(scene.table, act.Roll(), as_bot="bot:1")
            assert failure.reason == "not_seated", caller
            failure = await stream.refused(scene.table, act.Roll(), as_bot=holder)
            assert failure.reason == ("bad_request" if caller == "bots" else "not_seated"), caller
            stream.raw.cancel()


# --- what is not public


def _others() -> list[str]:
    """The methods of every contract that is not the gateway's, by path."""
    found = {FRAMES}
    for module in pkgutil.walk_packages(omnipoly.wire.gen.__path__, omnipoly.wire.gen.__name__ + "."):
        if module.name.endswith("_pb2"):
            file: Any = importlib.import_module(module.name).DESCRIPTOR
            if file.package != PACKAGE:
                found |= {
                    f"/{service.full_name}/{method.name}"
                    for service in file.services_by_name.values()
                    for method in service.methods
                }
    return sorted(found)


@pytest.mark.parametrize("path", _others())
async def test_the_services_own_calls_are_not_reached_through_the_gateway(running: Stack, path: str) -> None:
    async with running.client("oidc:root", guest=False, roles=["admin", "bots"]) as root:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await root.channel.unary_unary(path)(b"", metadata=root.metadata, timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_nothing_of_development_is_there_without_it(running: Stack, nats_url: str) -> None:
    async with (
        gateway(running.table, nats_url, dev=False) as public,
        public.client("oidc:root", guest=False, roles=["admin"]) as root,
    ):
        for rpc in RPCS.values():
            if rpc.service == "DevService":
                with pytest.raises(Failure) as caught:
                    await root.raw(f"{rpc.service}/{rpc.method}", b"")
                assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED
