"""Every public RPC by every kind of caller: the table in ``docs/who-may-call.toml``, and how a cell is tried out."""

from __future__ import annotations

import tomllib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import grpc
from google.protobuf import duration_pb2

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_rpc_error, from_status
from omnipoly.runtime.link import Link
from omnipoly.wire.gen.game.v1 import actions_pb2, script_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, sessions_pb2
from omnipoly.wire.gen.table.v1 import accounts_pb2
from tests.services.gateway.calling import WITHIN_S, Client, Stack, unique_id
from tests.services.gateway.signing_in import start
from tests.services.hostile.methods import BESIDE, PACKAGE, Rpc
from tests.services.hostile.methods import RPCS as CONTRACT
from tests.services.issuer.running import REDIRECT, browse

TABLE = Path(__file__).parents[3] / "docs/who-may-call.toml"
CALLERS = ("nobody", "guest", "viewer", "seat", "player", "host", "bots", "read_only", "moderator", "admin")
"""nobody: no session. guest, viewer: signed in, as a guest or not, without a seat. seat, host: have one, and it is
another's turn. player: whose turn it is. The others have that role, and no seat."""
RPCS = CONTRACT | BESIDE
YES, RULES, KEY = "yes", "rules", "key"
"""May; may, as far as the rules of the game allow it now; whoever holds the right key in the request."""
ABOUT_WHO = {
    "sign_in_required": grpc.StatusCode.UNAUTHENTICATED,
    "not_seated": grpc.StatusCode.PERMISSION_DENIED,
    "not_host": grpc.StatusCode.PERMISSION_DENIED,
    "not_admin": grpc.StatusCode.PERMISSION_DENIED,
    "not_your_turn": grpc.StatusCode.FAILED_PRECONDITION,
}
"""Reasons that are about who calls, and not about what is asked or how the game stands; with their status."""
DONE = ""
"""No reason: what was asked is done."""
RULED: dict[str, set[str]] = {
    "LobbyService.Join": {DONE, "bad_partner"},
    "PlayService.Accept": {"offer_gone"},
    "PlayService.Bid": {"wrong_phase"},
    "PlayService.Build": {"not_a_lot"},
    "PlayService.Buy": {"wrong_phase"},
    "PlayService.ChooseSteps": {"wrong_phase"},
    "PlayService.ClaimRent": {"nothing_to_claim"},
    "PlayService.Decline": {"wrong_phase"},
    "PlayService.EndTurn": {"wrong_phase"},
    "PlayService.GiveUp": {"wrong_phase"},
    "PlayService.LiftMortgage": {"not_a_lot"},
    "PlayService.Mortgage": {"not_a_lot"},
    "PlayService.Offer": {"bad_partner", "empty_side"},
    "PlayService.Pass": {"wrong_phase"},
    "PlayService.Pay": {"wrong_phase"},
    "PlayService.PayBail": {"not_in_jail"},
    "PlayService.ProposeEnd": {DONE, "vote_open"},
    "PlayService.Raise": {"wrong_phase"},
    "PlayService.Refuse": {"offer_gone"},
    "PlayService.ReplaceWithBot": {"not_away"},
    "PlayService.SellBuilding": {"not_a_lot"},
    "PlayService.SellProperty": {"wrong_phase"},
    "PlayService.TakeSeat": {"bad_option", "bad_partner"},
    "PlayService.Teleport": {"wrong_phase"},
    "PlayService.Travel": {"wrong_phase"},
    "PlayService.UseCard": {"not_in_jail"},
    "PlayService.Vote": {"no_vote"},
    "PlayService.Withdraw": {"offer_gone"},
    "TradesService.SendDraft": {"offer_gone"},
    "WatchService.Export": {"wrong_phase"},
    "WatchService.GetAuction": {"auction_closed"},
}
"""What the rules say of each call that is theirs to allow, at the scene's table."""


def read() -> dict[str, dict[str, str]]:
    """The table: by RPC and caller, ``yes``, ``rules``, or the reason for which it is refused."""
    found = {}
    for service, rows in tomllib.loads(TABLE.read_text("utf-8")).items():
        for method, row in rows.items():
            cells = row.split()
            assert len(cells) == len(CALLERS), f"{service}.{method}"
            found[f"{service}.{method}"] = dict(zip(CALLERS, cells, strict=True))
    return found


class Scene(NamedTuple):
    """A table, and one caller of each kind."""

    stack: Stack
    table: str
    callers: dict[str, Client]
    ids: dict[str, str]
    """Person ids by kind."""
    victim: str
    """A person who has signed in once, and is nobody of these."""

    @property
    def host(self) -> Client:
        return self.callers["host"]


@asynccontextmanager
async def scene(stack: Stack, *, started: bool = True) -> AsyncIterator[Scene]:
    """A table of three: host, player, another; it is the player's turn, who has not thrown yet. Or before its start."""
    mark = uuid.uuid4().hex[:10]
    ids = {name: f"guest:{name}-{mark}" for name in ("guest", "seat", "player", "host")}
    ids |= {name: f"oidc:{name}-{mark}" for name in ("viewer", "bots", "read_only", "moderator", "admin")}
    callers = {"nobody": stack.anonymous()}
    for name in CALLERS[1:]:
        roles = [name] if name in ("bots", "read_only", "moderator", "admin") else []
        callers[name] = stack.client(ids[name], guest=ids[name].startswith("guest:"), roles=roles)
    try:
        host, player, seat = (callers[name] for name in ("host", "player", "seat"))
        table = await host.create("tubbypoly", dev=True, options=actions_pb2.SetOptions(viewers_chat=True))
        for client in (player, seat):
            await client.act(table, act.Join(""))
        if started:
            await host.act(table, act.Start())
            for client, dice in ((host, (1, 2)), (player, (6, 5)), (seat, (3, 1))):
                await thrown(client, table, dice)  # for the order
        yield Scene(stack, table, callers, ids, await _victim(stack, mark))
    finally:
        for client in callers.values():
            await client.channel.close(None)


async def thrown(client: Client, table: str, dice: tuple[int, int]) -> None:
    """Somebody whose turn it is throws these."""
    stream = client.play()
    script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=dice)])
    answer = await stream.act(table, act.Roll(), script=script)
    assert isinstance(answer, play_pb2.Accepted), answer
    stream.raw.cancel()


async def _victim(stack: Stack, mark: str) -> str:
    link = Link(stack.table.address)
    request = accounts_pb2.UpsertPersonRequest(issuer="https://issuer.example", subject=mark, name="Somebody")
    method = "/omnipoly.table.v1.AccountService/UpsertPerson"
    answer = accounts_pb2.UpsertPersonResponse.FromString(await link.call(method, request.SerializeToString(), 20))
    await link.close()
    return answer.person.person


BEFORE_START = frozenset(
    f"LobbyService.{name}"
    for name in ("Join", "Leave", "SetOptions", "SetPin", "AddBot", "RemoveSeat", "Contribute", "Start")
)
"""What is tried at a table that has not begun."""

Fill = Callable[[Any, Scene], Awaitable[None]]


async def _nothing(request: Any, scene: Scene) -> None:
    """What every request has is enough."""


async def _finish(request: Any, scene: Scene) -> None:
    begun = await start(scene.stack)
    found = parse_qs(urlsplit(await browse(begun.authorization_url)).query)
    request.sign_in = begun.sign_in
    request.code, request.state = found["code"][0], found["state"][0]
    request.iss = found.get("iss", [""])[0]


async def _refresh(request: Any, scene: Scene) -> None:
    signed_in = await scene.callers["nobody"].call(
        "Sessions/SignInGuest", sessions_pb2.SignInGuestRequest(request_id=unique_id("r"), name="Zoe")
    )
    request.refresh_token = signed_in.session.refresh_token


GIVEN: dict[str, dict[str, Any]] = {
    "SessionsService.SignInGuest": {"name": "Zoe"},
    "SessionsService.StartOidcSignIn": {"issuer": "club", "redirect_uri": REDIRECT},
    "LobbyService.GetEdition": {"edition": "tubbypoly"},
    "LobbyService.CreateTable": {"edition": "tubbypoly"},
    "LobbyService.SetPin": {"pin": "481516"},
    "LobbyService.SetOptions": {"clock": duration_pb2.Duration(seconds=60)},
    "LobbyService.RemoveSeat": {"seat": 2},
    "LobbyService.Contribute": {"text": "luck"},
    "LobbyService.BarViewer": {"person": "oidc:somebody"},
    "ChatService.Say": {"text": "Hello."},
    "ChatService.Mute": {"person": "oidc:somebody"},
    "PlayService.Bid": {"amount": 10},
    "PlayService.Offer": {"to": 1},
    "PlayService.ReplaceWithBot": {"seat": 2},
    "PlayService.TakeSeat": {"seat": 2},
    "AdminService.RemovePlayer": {"seat": 2, "reason": "asleep"},
    "AdminService.Grant": {"amount": 5, "note": "a present"},
    "AdminService.Ban": {"reason": "a quarrel"},
    "AdminService.SetRoles": {"roles": ["read_only"]},
    "TradesService.SendDraft": {"draft": "d1"},
    "TradesService.DiscardDraft": {"draft": "d1"},
    "ServerReflection.ServerReflectionInfo": {"file_containing_symbol": "omnipoly.gateway.v1.PlayService"},
    "DevService.Advance": {"by": duration_pb2.Duration(seconds=1)},
}
"""What a request says beside table and ids."""
FILL: dict[str, Fill] = {
    "SessionsService.FinishOidcSignIn": _finish,
    "SessionsService.Refresh": _refresh,
    "SessionsService.Revoke": _refresh,
}


async def request_for(rpc: Rpc, scene: Scene) -> Any:
    """A proper request of an RPC, about the scene's table. Raises ``ValueError`` for what it has no field for."""
    request = rpc.request(**GIVEN.get(rpc.name, {}))
    fields = rpc.request.DESCRIPTOR.fields_by_name
    if "table" in fields:
        request.table = scene.table
    for name in ("command_id", "request_id"):
        if name in fields:
            setattr(request, name, unique_id("w"))
    if rpc.service == "AdminService" and "person" in fields:
        request.person = scene.victim
    if rpc.name == "DevService.SetUp":
        request.view.CopyFrom(await scene.host.view(scene.table))
    await FILL.get(rpc.name, _nothing)(request, scene)
    return request


async def outcome(rpc: Rpc, scene: Scene, caller: str) -> tuple[grpc.StatusCode, str]:
    """How a caller's proper call is answered: OK and "", or a status and a reason."""
    client = scene.callers[caller]
    try:
        if rpc.package != PACKAGE:
            await _beside(client, rpc)
        elif rpc.streams_in:
            await _play(client, scene.table)
        elif rpc.streams_out:
            stream = client.watch(scene.table)
            await stream.next()
            stream.raw.cancel()
        else:
            request = await request_for(rpc, scene)
            answer = await client.raw(f"{rpc.service}/{rpc.method}", request.SerializeToString())
            if rpc.name == "SessionsService.Revoke":  # which answers a key that is none, too
                assert rpc.response.FromString(answer).revoked == 1
    except Failure as failure:
        return failure.status, failure.reason
    return grpc.StatusCode.OK, ""


async def _play(client: Client, table: str) -> None:
    """A stream that follows the table."""
    stream = client.play()
    await stream.send(follow=play_pb2.Follow(table=table))
    answer = await stream.next("progress", "refused")
    if isinstance(answer, play_pb2.Refused):
        raise from_status(answer.status)
    stream.raw.cancel()


async def _beside(client: Client, rpc: Rpc) -> None:
    """A question to gRPC's own services, and its answer."""
    data = rpc.request(**GIVEN.get(rpc.name, {})).SerializeToString()
    call: Any
    if rpc.streams_in:
        call = client.channel.stream_stream(rpc.path)(metadata=client.metadata, timeout=WITHIN_S)
    elif rpc.streams_out:
        call = client.channel.unary_stream(rpc.path)(data, metadata=client.metadata, timeout=WITHIN_S)
    else:
        call = client.channel.unary_unary(rpc.path)(data, metadata=client.metadata, timeout=WITHIN_S)
    try:
        if rpc.streams_in:
            await call.write(data)
        answer = rpc.response.FromString(await (call.read() if rpc.streams_out else call))
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from None
    finally:
        call.cancel()
    assert answer.ByteSize()


def fits(name: str, wanted: str, status: grpc.StatusCode, reason: str) -> bool:
    """Whether an outcome of an RPC's proper call is what the table says."""
    if wanted in (YES, KEY):
        return status is grpc.StatusCode.OK
    if wanted == RULES:
        of_rules = status in (grpc.StatusCode.OK, grpc.StatusCode.FAILED_PRECONDITION)
        return of_rules and reason in RULED[name] and (reason == DONE) is (status is grpc.StatusCode.OK)
    return reason == wanted and status is ABOUT_WHO[wanted]


__all__ = ["CALLERS", "RPCS", "fits", "outcome", "read", "scene"]
