"""Configuration: read once, from environment variables with the prefix `OMNIPOLY_`, into one frozen object.

Each service has one subclass of `ServiceSettings` in its `config.py`. A variable that no known settings class has is an
error, not a no-op, so that a typing mistake in a deployment is found at the start.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable
from typing import ClassVar, Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from omnipoly.runtime import logging
from omnipoly.runtime.errors import ConfigError

PREFIX = "OMNIPOLY_"
PLACES = ("public", "services", "database", "nats")
"""Where TLS is spoken unless plain text is told."""

_known: set[str] = set()


class ServiceSettings(BaseSettings):
    """What every service can be told; a service's own class adds its fields and its own default port.

    A field `drain_s` is read from `OMNIPOLY_DRAIN_S`. Keys and passwords are `SecretStr` fields, or URLs whose password
    `logging` masks. Subclasses are known to `read_settings` from their definition on: a process that is given the
    environment of all services (`omnipolyd`) imports all their `config` modules first.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    service_name: ClassVar[str] = "service"

    database_url: str = Field("", description="PostgreSQL, postgresql://user:password@host:port/name; empty: embedded")
    nats_url: str = Field("", description="NATS, nats://host:port, several separated by commas; empty: embedded")

    host: str = Field("127.0.0.1", description="address the gRPC server listens on")
    port: int = Field(0, ge=0, le=65535, description="port of the gRPC server; 0: any free one")
    metrics_host: str = Field("127.0.0.1", description="address of the Prometheus endpoint")
    metrics_port: int = Field(0, ge=0, le=65535, description="port of the Prometheus endpoint, /metrics; 0: off")
    reflection: bool = Field(True, description="answer gRPC server reflection")

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level that is logged")
    log_format: Literal["json", "console"] = Field("json", description="json lines, or coloured lines for people")
    otlp_endpoint: str = Field("", description="OpenTelemetry collector, http://host:4317; empty: no tracing")
    trace_sample_ratio: float = Field(0.01, ge=0, le=1, description="share of new traces that is kept, 0 to 1")

    event_loop: Literal["asyncio", "uvloop"] = Field("uvloop", description="what the process waits with")

    drain_s: float = Field(20, ge=0, le=3600, description="how long streams and commands get to end, seconds")
    hard_stop_s: float = Field(30, gt=0, le=3600, description="after this long a stop is forced, seconds")

    max_concurrent_streams: int = Field(100, ge=1, le=100_000, description="gRPC streams a connection may have open")
    plaintext: str = Field(
        "",
        description="where nothing is encrypted, separated by commas: public (clients and gateway), services, database,"
        " nats; all: nowhere anything is",
    )
    tls_cert: str = Field("", description="file with the certificate and its chain that a service shows to others, PEM")
    tls_key: str = Field("", description="file with its key")
    tls_ca: str = Field("", description="file with the authorities by which other services' certificates are looked at")
    nats_ca: str = Field("", description="file with the authorities for NATS; empty: tls_ca")
    health_port: int = Field(
        0, ge=0, le=65535, description="port that answers gRPC health alone, in plain text; 0: off"
    )

    max_connections: int = Field(20_000, ge=1, le=1_000_000, description="connections taken at once; more are closed")
    handshake_s: float = Field(10, gt=0, le=600, description="how long who connects may take to say something, seconds")
    max_connection_age_s: float = Field(0, ge=0, description="age at which a connection is renewed, seconds; 0: never")
    max_connection_age_grace_s: float = Field(60, gt=0, description="what its streams get then, seconds")
    max_connection_idle_s: float = Field(
        0, ge=0, description="how long a connection may be without a call before it is closed, seconds; 0: for ever"
    )
    keepalive_s: float = Field(30, ge=1, description="silence after which a connection is probed, seconds")

    database_pool_size: int = Field(10, ge=1, le=1000, description="most connections to the database")
    statement_timeout_s: float = Field(10, gt=0, le=3600, description="longest database statement, seconds")
    nats_replicas: int = Field(1, ge=1, le=5, description="copies NATS keeps of its streams and buckets")

    gateway_addr: str = Field("127.0.0.1:7100", description="the gateways, dns:///host:port or host:port,host:port")
    table_addr: str = Field("127.0.0.1:7101", description="the table replicas, likewise")
    auction_addr: str = Field("127.0.0.1:7102", description="the auction replicas, likewise")
    trade_addr: str = Field("127.0.0.1:7103", description="the trade replicas, likewise")
    clock_addr: str = Field("127.0.0.1:7104", description="the clock replicas, likewise")
    presence_addr: str = Field("127.0.0.1:7105", description="the presence replicas, likewise")

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        register_variables(variable(name) for name in cls.model_fields)

    @field_validator("plaintext")
    @classmethod
    def _places(cls, value: str) -> str:
        unknown = {part.strip() for part in value.split(",") if part.strip()} - {*PLACES, "all"}
        if unknown:
            raise ValueError(f"give {', '.join(PLACES)} or all, not {', '.join(sorted(unknown))}")
        return value

    def plain(self, place: str) -> bool:
        """Whether a place, one of `PLACES`, was told to be plain text."""
        return not {place, "all"}.isdisjoint(part.strip() for part in self.plaintext.split(","))

    @field_validator("gateway_addr", "table_addr", "auction_addr", "trade_addr", "clock_addr", "presence_addr")
    @classmethod
    def _address(cls, value: str) -> str:
        for part in value.removeprefix("dns:///").split(","):
            host, _, port = part.strip().rpartition(":")
            if not host or not port.isdecimal() or not 0 < int(port) < 65536:
                raise ValueError("give dns:///host:port or host:port,host:port")
        return value

    def describe(self) -> dict[str, object]:
        """What was set differently from its default, by field; secrets and passwords masked. For the log."""
        fields = type(self).model_fields
        changed = {name: getattr(self, name) for name, field in fields.items() if getattr(self, name) != field.default}
        return {name: logging.masked(name, value) for name, value in changed.items()}


Settings = TypeVar("Settings", bound=ServiceSettings)


def variable(field: str) -> str:
    """The environment variable of a settings field."""
    return PREFIX + field.upper()


def register_variables(names: Iterable[str]) -> None:
    """Makes variables known that are read elsewhere (by the command line, by the tests), in full: `OMNIPOLY_DATA`."""
    _known.update(names)


def known_variables() -> frozenset[str]:
    """Every variable that some imported settings class or `register_variables` has named."""
    return frozenset(_known)


def refuse_unknown() -> None:
    """Raises `ConfigError`, one line with the nearest name, for a variable with our prefix that nobody reads."""
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name.upper() not in _known:
            fields = [known.removeprefix(PREFIX) for known in sorted(_known)]
            near = difflib.get_close_matches(name.upper().removeprefix(PREFIX), fields, n=1)
            remedy = f"did you mean {PREFIX}{near[0]}?" if near else "remove it"
            raise ConfigError(f"{name} is not a setting of Omnipoly: {remedy}")


def read_settings(cls: type[Settings]) -> Settings:
    """The settings of one service, from the environment.

    Raises `ConfigError`, one line, for the first wrong value and for a variable with our prefix that nobody reads.
    Tests and `omnipolyd up` may also make a settings object with arguments; those stand before the environment.
    """
    refuse_unknown()
    try:
        return cls()
    except ValidationError as error:
        raise ConfigError(_line(cls, error)) from None


def _line(cls: type[ServiceSettings], error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    info = cls.model_fields.get(field)
    if info is None:
        return f"the settings are wrong: {first['msg']}"
    shown = "" if info.annotation is SecretStr or "url" in field else f" = {first['input']!r}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{variable(field)}{shown} is wrong: {message[:1].lower()}{message[1:]} ({info.description or field})"


def exit_with(error: Exception) -> int:
    """Prints the one line of a `StartError` on standard error; the exit code to end with."""
    sys.stderr.write(f"omnipolyd: {error}\n")
    return 1


register_variables(variable(name) for name in ServiceSettings.model_fields)
