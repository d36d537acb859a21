"""The bots service's settings."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, SecretStr

from omnipoly.runtime.config import ServiceSettings


class BotsSettings(ServiceSettings):
    """Read once from the environment, ``OMNIPOLY_`` before each name."""

    service_name: ClassVar[str] = "bots"

    port: int = Field(7106, ge=0, le=65535, description="port of the gRPC server; 0: any free one")

    session_key: SecretStr = Field(
        SecretStr(""),
        description="secrets that sign sessions, as the gateway has them: of several, separated by commas, the first"
        " signs",
    )
    session_key_file: str = Field("", description="file with such secrets, one a line, in place of session_key")

    gateway_ca: str = Field(
        "", description="file with the authorities by which the gateways' certificate is looked at; empty: the system's"
    )
    gateway_name: str = Field("", description="the name in it, where the gateways are called by another")

    bots_thinking_s: float = Field(
        0.7, ge=0, le=60, description="how long bots think, seconds; each time half to one and a half of it"
    )
    bots_look_every_s: float = Field(
        5, gt=0, le=600, description="how often tables with bots are looked for, beside what is heard on the bus"
    )
