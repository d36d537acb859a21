"""What the code says of itself, for the files of deploy to be held against."""

from __future__ import annotations

import functools
import re
from typing import Any

from omnipoly.runtime import config
from omnipolyd import roles
from omnipolyd.roles import ROLES
from tests.repository import reference
from tests.repository.tree import ROOT

SERVICES = ROOT / "services/omnipolyd"


def settings_of(role: str) -> dict[str, Any]:
    """The settings of a role by variable, with their fields."""
    fields = ROLES[role].settings_class().model_fields
    return {config.variable(name): field for name, field in fields.items()}


@functools.cache
def known_variables() -> frozenset[str]:
    """Every variable that some process reads."""
    roles.learn_variables()
    return config.known_variables()


@functools.cache
def series() -> frozenset[str]:
    """The names of all time series that the services have."""
    return frozenset(reference.series())


def calls(role: str) -> set[str]:
    """The services that a service calls, by the addresses that its code names."""
    named: set[str] = set()
    for path in (SERVICES / role).rglob("*.py"):
        if path.name == "config.py":
            continue
        text = path.read_text("utf-8")
        named |= set(re.findall(r"settings\.(\w+)_addr\b", text))
        for found in re.finditer(r'getattr\(settings, f"\{name\}_addr"\)\)\s+for name in \(([^)]*)\)', text):
            named |= set(re.findall(r'"(\w+)"', found[1]))
    return named


def uses_bus(role: str) -> bool:
    """Whether a service speaks to NATS."""
    return ROLES[role].service_class().uses_bus


def uses_database(role: str) -> bool:
    """Whether a service speaks to Postgres."""
    return bool(ROLES[role].service_class().migrations)


def complaints(role: str, environment: dict[str, str]) -> str:
    """What a role's settings say against an environment; empty: nothing."""
    unknown = [name for name in environment if name.startswith(config.PREFIX) and name not in known_variables()]
    if unknown:
        return f"unknown: {', '.join(unknown)}"
    fields = {name.removeprefix(config.PREFIX).lower(): value for name, value in environment.items() if value}
    own = {name: value for name, value in fields.items() if name in ROLES[role].settings_class().model_fields}
    try:
        ROLES[role].settings_class()(**own)
    except ValueError as error:
        return str(error)
    return ""
