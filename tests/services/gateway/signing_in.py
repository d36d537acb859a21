"""A stack that trusts a real OpenID provider, and sign-ins with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from omnipoly.wire.gen.gateway.v1 import sessions_pb2 as pb
from tests.services.gateway.calling import Client, Stack, gateway, stack, unique_id
from tests.services.issuer.running import REDIRECT, Issuer, browse

Begun = pb.StartOidcSignInResponse


@asynccontextmanager
async def trusting(
    issuers: list[dict[str, Any]], database_url: str, nats_url: str, **settings: Any
) -> AsyncIterator[Stack]:
    """A table service and a gateway with these issuers."""
    async with stack(database_url, nats_url, **oidc(issuers), **settings) as running:
        yield running


@asynccontextmanager
async def another(
    running: Stack, issuers: list[dict[str, Any]], nats_url: str, **settings: Any
) -> AsyncIterator[Stack]:
    """Another gateway before the same table service."""
    async with gateway(running.table, nats_url, **oidc(issuers), **settings) as other:
        yield other


def oidc(issuers: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings that name issuers."""
    return {"oidc": json.dumps(issuers)}


async def start(running: Stack, issuer: str = "club", redirect_uri: str = REDIRECT) -> Begun:
    """Begins a sign-in."""
    async with running.anonymous() as client:
        request = pb.StartOidcSignInRequest(issuer=issuer, redirect_uri=redirect_uri, request_id=unique_id("s"))
        begun: Begun = await client.call("Sessions/StartOidcSignIn", request)
        return begun


async def finish(running: Stack, sign_in: str, redirected: str, **instead: str) -> pb.Session:
    """Ends it with an address that a browser was sent to. instead: other fields than that says."""
    found = {name: values[0] for name, values in parse_qs(urlsplit(redirected).query).items()}
    fields = {"code": found["code"], "state": found["state"], "iss": found.get("iss", ""), **instead}
    async with running.anonymous() as client:
        request = pb.FinishOidcSignInRequest(sign_in=sign_in, request_id=unique_id("f"), **fields)
        answer: pb.FinishOidcSignInResponse = await client.call("Sessions/FinishOidcSignIn", request)
        return answer.session


async def sign_in(running: Stack, username: str = "ann", issuer: str = "club") -> pb.Session:
    """All of it."""
    begun = await start(running, issuer)
    return await finish(running, begun.sign_in, await browse(begun.authorization_url, username))


async def refresh(running: Stack, refresh_token: str, request_id: str = "") -> pb.Session:
    """Renews a session."""
    async with running.anonymous() as client:
        request = pb.RefreshRequest(refresh_token=refresh_token, request_id=request_id or unique_id("r"))
        answer: pb.RefreshResponse = await client.call("Sessions/Refresh", request)
        return answer.session


async def guest(running: Stack, name: str = "Gus") -> pb.Session:
    """A guest's session."""
    async with running.anonymous() as client:
        request = pb.SignInGuestRequest(name=name, request_id=unique_id("g"))
        answer: pb.SignInGuestResponse = await client.call("Sessions/SignInGuest", request)
        return answer.session


def of(running: Stack, session: pb.Session) -> Client:
    """A client with that session."""
    return running.anonymous(session.access_token)


MakeIssuer = Callable[[], Issuer]
