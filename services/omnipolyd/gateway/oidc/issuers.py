"""Issuers as an operator names them: a list in JSON, presets for those with ways of their own.

[{"preset": "twitch", "client_id": "…", "client_secret": "…", "redirect_uris": ["https://play.example/signed-in"]},
 {"id": "club", "title": "The club", "issuer": "https://id.club.example", "client_id": "omnipoly",
  "client_secret_file": "/run/secrets/club", "redirect_uris": ["http://127.0.0.1/signed-in"]}]
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from omnipoly.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ..config import GatewaySettings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""What an ID token may be signed with: by a key that the issuer alone has, never ``none``, nor a secret of ours."""
MOST = 16
LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))

PRESETS: dict[str, dict[str, Any]] = {
    # Twitch puts a name into its ID token only when asked by the claims parameter, knows no scope `profile`, and takes
    # the client's secret in the form alone.
    "twitch": {
        "id": "twitch",
        "title": "Twitch",
        "issuer": "https://id.twitch.tv/oauth2",
        "scopes": ["openid"],
        "claims": {"id_token": {"preferred_username": None}},
        "token_auth": "client_secret_post",
        "name_claims": ["preferred_username"],
        "algorithms": ["RS256"],
    },
}

Text = Annotated[str, Field(min_length=1, max_length=256)]


class Issuer(BaseModel):
    """One that is trusted to vouch for persons."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    """What clients name."""
    title: str = Field("", max_length=80)
    """What is shown; empty: the id."""
    issuer: Text
    """Its URL, exactly as its tokens have it; below it lies ``.well-known/openid-configuration``."""
    client_id: Text
    client_secret: SecretStr = SecretStr("")
    """Empty, and no file: a public client, which PKCE alone protects."""
    client_secret_file: str = ""
    redirect_uris: tuple[Text, ...] = Field(min_length=1, max_length=16)
    """Where it may send a browser afterwards; a loopback address without a port stands for any port there."""
    scopes: tuple[Text, ...] = ("openid", "profile")
    claims: dict[str, Any] | None = None
    """The claims parameter."""
    token_auth: Literal["", "client_secret_basic", "client_secret_post"] = ""
    """How the secret is shown; empty: as discovery says."""
    name_claims: tuple[Text, ...] = ("nickname", "preferred_username", "given_name", "name")
    """Where the name to be shown is looked for, in this order; what looks like an address for mail is passed over."""
    algorithms: tuple[str, ...] = ALGORITHMS

    @field_validator("issuer")
    @classmethod
    def _issuer(cls, value: str) -> str:
        return secure(value)

    @field_validator("redirect_uris")
    @classmethod
    def _redirects(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for uri in value:
            if not urlsplit(uri).scheme or "#" in uri:
                raise ValueError("give whole addresses, without a fragment")
        return value

    @field_validator("algorithms")
    @classmethod
    def _algorithms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or not set(value) <= set(ALGORITHMS):
            raise ValueError(f"some of {', '.join(ALGORITHMS)}")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Issuer:
        if "openid" not in self.scopes:
            raise ValueError("scopes: openid has to be one of them")
        return self

    @property
    def shown(self) -> str:
        """What it is called."""
        return self.title or self.id

    def takes(self, redirect_uri: str) -> bool:
        """Whether a browser may be sent there afterwards."""
        return any(redirect_uri == uri or _any_port(uri, redirect_uri) for uri in self.redirect_uris)


def secure(url: str) -> str:
    """An address that may be asked: https, or on this machine. Raises ``ValueError``."""
    parts = urlsplit(url)
    if not parts.hostname or (parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK)):
        raise ValueError("an address that begins with https:// (http:// on this machine alone)")
    return url


def of(settings: GatewaySettings) -> tuple[Issuer, ...]:
    """The issuers that the settings name. Raises ``ConfigError``, one line, never with a value in it."""
    source, text = "OMNIPOLY_OIDC", settings.oidc.get_secret_value()
    if settings.oidc_file:
        source = "OMNIPOLY_OIDC_FILE"
        text = _read(settings.oidc_file, source)
    if not text.strip():
        return ()
    try:
        rows = json.loads(text)
    except ValueError:
        raise ConfigError(f"{source} is no JSON") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or len(rows) > MOST:
        raise ConfigError(f"{source} is no list of at most {MOST} issuers")
    issuers = tuple(_issuer(row, f"{source}, issuer {number}") for number, row in enumerate(rows, start=1))
    if len({issuer.id for issuer in issuers}) < len(issuers):
        raise ConfigError(f"{source} names two issuers by the same id")
    return issuers


def _issuer(row: dict[str, Any], where: str) -> Issuer:
    preset = row.pop("preset", "")
    if preset and preset not in PRESETS:
        raise ConfigError(f"{where}: there is no such preset; there are {', '.join(PRESETS)}")
    try:
        issuer = Issuer(**{**PRESETS.get(preset, {}), **row})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise ConfigError(f"{where}: {field} is wrong: {first['msg'].removeprefix('Value error, ')}") from None
    if issuer.client_secret_file:
        secret = _read(issuer.client_secret_file, f"{where}: client_secret_file").strip()
        issuer = issuer.model_copy(update={"client_secret": SecretStr(secret)})
    return issuer


def _read(path: str, source: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{source} cannot be read: {error}") from None


def _any_port(allowed: str, given: str) -> bool:
    """RFC 8252, 7.3: a program on somebody's machine listens on whatever port is free."""
    try:
        one, other = urlsplit(allowed), urlsplit(given)
        return (
            one.scheme == other.scheme == "http"
            and one.hostname in LOOPBACK
            and one.port is None
            and other.port is not None
            and other._replace(netloc=other.netloc.rpartition(":")[0]).geturl() == allowed
        )
    except ValueError:
        return False
