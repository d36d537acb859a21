"""One issuer, as it is asked: discovery, keys, the exchange of a code, and what the name is.

What it says of itself and its keys are kept for an hour, and for a day where it cannot be asked again. A token that
names a key which is not known has the keys fetched anew, at most every 30 s: anybody can make such tokens.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus, urlencode

import httpx
import msgspec

from omnipoly.runtime import logging

from . import id_tokens
from .faults import NotVouched, Unreachable
from .issuers import secure

if TYPE_CHECKING:
    from .begun import Begun
    from .issuers import Issuer

log = logging.get(__name__)

FRESH_S = 3600.0
STALE_S = 86_400.0
ANSWER_BYTES = 256 * 1024
MOST_KEYS = 100
LONGEST_NAME = 40
LONGEST_ADDRESS = 2048

_ERROR = re.compile(r"[a-z_]{1,40}")


class Vouched(NamedTuple):
    """For whom the issuer vouches."""

    subject: str
    name: str


class _About(NamedTuple):
    """What an issuer says of itself."""

    authorization: str
    token: str
    keys: str
    userinfo: str
    """"": it has none."""
    token_auth: tuple[str, ...]
    names_itself: bool
    """Each redirect says which issuer it is from (RFC 9207)."""


class Provider:
    """Asks one issuer. Raises ``Unreachable`` and ``NotVouched``."""

    def __init__(self, issuer: Issuer, http: httpx.AsyncClient, *, keys_every_s: float) -> None:
        """keys_every_s: the least time between two fetches of keys because of a key that is not known."""
        self.issuer = issuer
        self._http = http
        self._keys_every_s = keys_every_s
        self._about: _About | None = None
        self._about_at = self._keys_at = float("-inf")
        self._keys: list[dict[str, Any]] = []
        self._lock = asyncio.Lock()

    async def address(self, begun: Begun) -> str:
        """Where a browser goes to sign in."""
        issuer, about = self.issuer, await self._discovered()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).decode().rstrip("=")
        query = {
            "response_type": "code",
            "client_id": issuer.client_id,
            "redirect_uri": begun.redirect_uri,
            "scope": " ".join(issuer.scopes),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        if issuer.claims is not None:
            query["claims"] = msgspec.json.encode(issuer.claims).decode()
        address = f"{about.authorization}{'&' if '?' in about.authorization else '?'}{urlencode(query)}"
        if len(address) > LONGEST_ADDRESS:
            raise Unreachable("its address is too long")
        return address

    async def vouch(self, begun: Begun, code: str, iss: str) -> Vouched:
        """Exchanges what a redirect brought for the person it stands for. iss: whom the redirect named; "": nobody."""
        about = await self._discovered()
        if (iss or about.names_itself) and iss != self.issuer.issuer:
            raise NotVouched("the redirect is another issuer's")
        answer = await self._exchange(about, begun, code)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise NotVouched("there is no ID token")
        algorithm, key_id = id_tokens.header(token, self.issuer.algorithms)
        key = id_tokens.choose(await self._fresh_keys(about), algorithm, key_id)
        if key is None:
            key = id_tokens.choose(await self._newer_keys(about), algorithm, key_id)
        if key is None:
            raise NotVouched("the ID token is signed with a key that is not the issuer's")
        claims = id_tokens.claims(
            token, key, issuer=self.issuer.issuer, client_id=self.issuer.client_id, nonce=begun.nonce
        )
        name = self._name(claims) or await self._name_asked(about, claims["sub"], answer.get("access_token"))
        return Vouched(claims["sub"], name or f"Player {hashlib.sha256(claims['sub'].encode()).hexdigest()[:6]}")

    # --- Discovery and keys

    async def _discovered(self) -> _About:
        async with self._lock:
            about, age_s = self._about, time.monotonic() - self._about_at
            if about is None or age_s > FRESH_S:
                try:
                    about = self._about = await self._discover()
                    self._about_at = time.monotonic()
                except Unreachable as error:
                    if about is None or age_s > STALE_S:
                        raise
                    log.warning("issuer_unreachable", issuer=self.issuer.id, cause=str(error), age_s=round(age_s))
            return about

    async def _discover(self) -> _About:
        found = await self._get(f"{self.issuer.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self.issuer.issuer:
            raise Unreachable("it calls itself by another name than the settings do")
        methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return _About(
            _endpoint(found, "authorization_endpoint"),
            _endpoint(found, "token_endpoint"),
            _endpoint(found, "jwks_uri"),
            _endpoint(found, "userinfo_endpoint") if "userinfo_endpoint" in found else "",
            tuple(method for method in methods if isinstance(method, str)) if isinstance(methods, list) else (),
            found.get("authorization_response_iss_parameter_supported") is True,
        )

    async def _fresh_keys(self, about: _About) -> list[dict[str, Any]]:
        async with self._lock:
            age_s = time.monotonic() - self._keys_at
            if age_s > FRESH_S:
                await self._fetch_keys(about, bearable=bool(self._keys) and age_s < STALE_S)
            return self._keys

    async def _newer_keys(self, about: _About) -> list[dict[str, Any]]:
        async with self._lock:
            if time.monotonic() - self._keys_at >= self._keys_every_s:
                await self._fetch_keys(about, bearable=False)
            return self._keys

    async def _fetch_keys(self, about: _About, *, bearable: bool) -> None:
        try:
            rows = (await self._get(about.keys)).get("keys")
            if not isinstance(rows, list):
                raise Unreachable("it has no keys")
        except Unreachable as error:
            if not bearable:
                raise
            log.warning("issuer_keys_not_fetched", issuer=self.issuer.id, cause=str(error))
            return
        self._keys = [row for row in rows[:MOST_KEYS] if isinstance(row, dict)]
        self._keys_at = time.monotonic()

    # --- The exchange

    async def _exchange(self, about: _About, begun: Begun, code: str) -> dict[str, Any]:
        issuer = self.issuer
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": begun.redirect_uri,
            "code_verifier": begun.verifier,
        }
        headers = {}
        secret = issuer.client_secret.get_secret_value()
        if not secret:
            form["client_id"] = issuer.client_id
        elif (issuer.token_auth or _chosen(about.token_auth)) == "client_secret_post":
            form |= {"client_id": issuer.client_id, "client_secret": secret}
        else:
            pair = f"{quote_plus(issuer.client_id)}:{quote_plus(secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        status, answer = await self._ask("POST", about.token, headers=headers, form=form)
        if status == httpx.codes.OK:
            return answer
        error = answer.get("error")
        error = error if isinstance(error, str) and _ERROR.fullmatch(error) else "unknown"
        if error in {"invalid_client", "unauthorized_client"} or status == httpx.codes.UNAUTHORIZED:
            log.error("issuer_refuses_client", issuer=issuer.id, error=error, remedy="look at client_id and its secret")
            raise Unreachable("it does not know us")
        if status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.TOO_MANY_REQUESTS:
            raise Unreachable(f"it answers {status}")
        raise NotVouched(f"the code is refused: {error}")

    # --- The name

    def _name(self, claims: Mapping[str, Any]) -> str:
        for claim in self.issuer.name_claims:
            value = claims.get(claim)
            if isinstance(value, str) and "@" not in value:
                name = "".join(sign for sign in value if sign.isprintable()).strip()[:LONGEST_NAME].strip()
                if name:
                    return name
        return ""

    async def _name_asked(self, about: _About, subject: str, access_token: object) -> str:
        """Where the ID token has no name, userinfo may; a sign-in does not fail for want of one."""
        if not about.userinfo or not isinstance(access_token, str):
            return ""
        try:
            status, claims = await self._ask("GET", about.userinfo, headers={"authorization": f"Bearer {access_token}"})
        except Unreachable as error:
            log.info("issuer_told_no_name", issuer=self.issuer.id, cause=str(error))
            return ""
        return self._name(claims) if status == httpx.codes.OK and claims.get("sub") == subject else ""

    # --- Asking

    async def _get(self, url: str) -> dict[str, Any]:
        status, answer = await self._ask("GET", url)
        if status != httpx.codes.OK:
            raise Unreachable(f"it answers {status}")
        return answer

    async def _ask(
        self, method: str, url: str, *, headers: dict[str, str] | None = None, form: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """(status, the object it answers with; none for anything else). No redirect is followed."""
        given = {"accept": "application/json", **(headers or {})}
        try:
            async with self._http.stream(method, url, headers=given, data=form) as response:
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > ANSWER_BYTES:
                        raise Unreachable("its answer is too large")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise Unreachable(type(error).__name__) from None
        try:
            answer = msgspec.json.decode(bytes(body))
        except (msgspec.DecodeError, UnicodeDecodeError):
            answer = None
        if not isinstance(answer, dict):
            if response.status_code == httpx.codes.OK:
                raise Unreachable("its answer is none")
            answer = {}
        return response.status_code, answer


def client() -> httpx.AsyncClient:
    """What issuers are asked with: their addresses are the operator's and their own, and lead no further."""
    return httpx.AsyncClient(
        timeout=5.0,
        follow_redirects=False,
        limits=httpx.Limits(max_connections=32, max_keepalive_connections=8),
        headers={"user-agent": "omnipoly"},
    )


def _chosen(supported: tuple[str, ...]) -> str:
    return "client_secret_basic" if "client_secret_basic" in supported or not supported else "client_secret_post"


def _endpoint(about: dict[str, Any], field: str) -> str:
    value = about.get(field)
    try:
        return secure(value) if isinstance(value, str) else secure("")
    except ValueError:
        raise Unreachable(f"its {field} is none") from None
