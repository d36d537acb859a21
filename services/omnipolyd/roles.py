"""The roles a process can play: one row each, whose modules are imported when they are needed and not before."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from omnipoly.runtime.app import App, Service
    from omnipoly.runtime.config import ServiceSettings


class Role(NamedTuple):
    """One service: what it is called, where it listens unless told otherwise, and after whom it comes up."""

    name: str
    port: int
    """Its port where none is given: the one at which the others look for it."""
    tier: int
    """A role relies on those of lower tiers; what is stopped first has the highest."""
    summary: str

    @property
    def package(self) -> str:
        return f"omnipolyd.{self.name}"

    @property
    def migrations(self) -> str:
        """The package of its revisions; empty when it has none."""
        package = f"{self.package}.migrations"
        return package if importlib.util.find_spec(package) is not None else ""

    def settings_class(self) -> type[ServiceSettings]:
        """``omnipolyd.table.config.TableSettings``; imports only that module."""
        module = importlib.import_module(f"{self.package}.config")
        return cast("type[ServiceSettings]", getattr(module, f"{self.name.capitalize()}Settings"))

    def service_class(self) -> type[Service]:
        """``omnipolyd.table.service.TableService``; imports the whole service."""
        module = importlib.import_module(f"{self.package}.service")
        return cast("type[Service]", getattr(module, f"{self.name.capitalize()}Service"))


ROLES = {
    role.name: role
    for role in (
        Role("table", 7101, 0, "every game, in the log"),
        Role("auction", 7102, 1, "the way of a bid"),
        Role("trade", 7103, 1, "the way of an offer"),
        Role("clock", 7104, 1, "wakes tables when something is due"),
        Role("presence", 7105, 1, "who is connected"),
        Role("gateway", 7100, 2, "clients' streams, the public face"),
        Role("bots", 7106, 3, "plays the seats of bots"),
    )
}
"""By name, in the order in which they come up."""


VARIABLES = ("OMNIPOLY_DATA", "OMNIPOLY_GATEWAY", "OMNIPOLY_TOKEN")
"""What the command lines, `omnipoly`'s too, read from the environment beside the roles' settings."""


def learn_variables() -> None:
    """Imports every role's settings, so that their variables are known: the environment may be that of all roles."""
    from omnipoly.runtime import config

    for role in ROLES.values():
        role.settings_class()
    config.register_variables(VARIABLES)


def serve(role: Role, on_serving: Callable[[App], Awaitable[None]] | None = None) -> int:
    """Runs one role as this process until it is told to stop; the exit code, see `runtime.app.main`.

    on_serving: awaited once it serves.
    """
    from omnipoly.runtime import app

    learn_variables()
    os.environ.setdefault("OMNIPOLY_PORT", str(role.port))
    return app.main(role.service_class(), role.settings_class(), on_serving)
