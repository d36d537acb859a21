"""Every SQL statement of the table service, as its modules have it."""

from __future__ import annotations

import importlib
import pkgutil

import omnipolyd.table

_BEGIN = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
_OPERATORS = ("omnipolyd.table.migrations", "omnipolyd.table.upkeep")
"""What runs as the owner: revisions, and what operators put the log through."""


def all_of_them() -> dict[str, str]:
    """By module and name."""
    found = {}
    for module in pkgutil.walk_packages(omnipolyd.table.__path__, "omnipolyd.table."):
        if module.name.startswith(_OPERATORS):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, str) and value.lstrip().startswith(_BEGIN):
                found[value] = f"{module.name}.{name}"
    return {name: text for text, name in found.items()}
