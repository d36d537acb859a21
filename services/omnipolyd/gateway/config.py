"""The gateway's settings."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, SecretStr, model_validator

from omnipoly.runtime.config import ServiceSettings

from .oidc import issuers


class GatewaySettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name.

    The auction, trade and presence services are asked only when their addresses are set; without them bids and offers
    go straight to the table and nobody's presence is reported.
    """

    service_name: ClassVar[str] = "gateway"

    port: int = Field(7100, ge=0, le=65535, description="port of the gRPC server; 0: any free one")
    reflection: bool = Field(False, description="answer gRPC server reflection, to anybody; `omnipolyd up` does")

    dev: bool = Field(False, description="allow tables set up from positions, scripted dice and driven clocks")
    public_tls_cert: str = Field("", description="file with the certificate and its chain that clients are shown, PEM")
    public_tls_key: str = Field("", description="file with its key")

    editions: str = Field("", description="folder of further edition files; empty: the shipped ones only")

    session_key: SecretStr = Field(
        SecretStr(""),
        description="secrets that sign sessions, at least 32 characters each, separated by commas: the first signs, all"
        " are taken; empty: a new one at each start",
    )
    session_key_file: str = Field("", description="file with such secrets, one a line, in place of session_key")
    access_s: float = Field(600, ge=1, le=3600, description="how long an access token lives, seconds")
    session_s: float = Field(
        2_592_000, ge=1, le=31_536_000, description="how long a session lives that is not renewed, seconds"
    )
    guest_session_s: float = Field(172_800, ge=1, le=31_536_000, description="likewise a guest's")
    revocations_every_s: float = Field(
        2, gt=0, le=5, description="how often ended sessions and bans are asked for, beside what is heard on the bus"
    )

    guests_watch: bool = Field(False, description="let guests watch tables at which they have no seat")
    guests: bool = Field(True, description="take guests, who sign in without an account")
    oidc: SecretStr = Field(
        SecretStr(""), description="OpenID Connect issuers, a list in JSON; see docs/sign-in.md; empty: none"
    )
    oidc_file: str = Field("", description="file with such a list, in place of oidc")
    oidc_keys_every_s: float = Field(
        30, ge=0, le=3600, description="least time between two fetches of an issuer's keys because one is not known"
    )
    sign_ins_per_second: float = Field(20, gt=0, le=1_000_000, description="sign-ins and renewals from one address")
    sign_ins_burst: int = Field(200, ge=1, le=1_000_000, description="sign-ins from one address at once, after a rest")
    client_address_header: str = Field(
        "",
        description="metadata in which a proxy that clients cannot go round says where they are, x-forwarded-for: its"
        " last address counts; empty: where the connection is from",
    )

    commands_per_second: float = Field(20, gt=0, le=1_000_000, description="commands of one person a second")
    commands_burst: int = Field(40, ge=1, le=1_000_000, description="commands of one person at once, after a rest")
    streams_per_identity: int = Field(8, ge=1, le=100_000, description="streams of one person")
    streams_per_connection: int = Field(
        100, ge=1, le=100_000, description="streams that come over one connection, or from one client_address_header"
    )
    connection_calls_per_second: float = Field(
        500, gt=0, le=1_000_000, description="calls over one connection a second, whoever calls; likewise"
    )
    connection_calls_burst: int = Field(
        1000, ge=1, le=1_000_000, description="calls over one connection at once, after a rest"
    )
    max_concurrent_streams: int = Field(
        200, ge=1, le=100_000, description="RPCs a connection may have open; more wait in the client"
    )
    max_connection_idle_s: float = Field(
        300, ge=0, description="how long a connection may be without a call before it is closed, seconds; 0: for ever"
    )
    followed_tables: int = Field(64, ge=1, le=100_000, description="tables one stream of a person follows")
    viewers_per_table: int = Field(2000, ge=1, le=1_000_000, description="viewers of one table")
    open_tables: int = Field(5, ge=1, le=1_000_000, description="tables a person may have open at once")

    chat_lines_per_second: float = Field(1, gt=0, le=1000, description="lines of one person in the chat of tables")

    heads_every_s: float = Field(2, gt=0, le=60, description="how often the tables shown are compared with the log")
    progress_after_s: float = Field(15, gt=0, le=600, description="silence after which a stream is told so")
    reconnect_within_s: float = Field(5, ge=0, le=30, description="over how long clients come back after a drain")

    @model_validator(mode="after")
    def _calls_fit_beside_streams(self) -> Self:
        if self.max_concurrent_streams <= self.streams_per_connection:
            raise ValueError("max_concurrent_streams: more than streams_per_connection, calls come beside them")
        return self

    @model_validator(mode="after")
    def _issuers_are_understood(self) -> Self:
        issuers.of(self)  # a ConfigError of its own, which says where in the list
        return self

    def configured(self, service: str) -> bool:
        """Whether the address of a service was set, here or in the environment."""
        return f"{service}_addr" in self.model_fields_set
