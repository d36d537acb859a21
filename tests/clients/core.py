"""Stands in for an installation without the `server` extra: what only servers need cannot be imported.

    python core.py SCRIPT [ARGUMENTS]

Packages that core's own need, directly or not, can be.
"""

from __future__ import annotations

import runpy
import sys
from importlib.metadata import packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str) -> set[str]:
    """The distributions that one needs without extras, itself included."""
    found, waiting = {canonicalize_name(name)}, [name]
    while waiting:
        for line in requires(waiting.pop()) or ():
            part = Requirement(line)
            inner = canonicalize_name(part.name)
            if inner not in found and (part.marker is None or part.marker.evaluate({"extra": ""})):
                found.add(inner)
                waiting.append(inner)
    return found


class Blocked:
    """Finds nothing of what is not installed in core."""

    def __init__(self) -> None:
        core = needed("omnipoly")
        self.names = {
            module
            for module, distributions in packages_distributions().items()
            if not core & {canonicalize_name(name) for name in distributions}
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raises ``ModuleNotFoundError`` for what is blocked."""
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    blocked = Blocked()
    for module in [module for module in sys.modules if module.partition(".")[0] in blocked.names]:
        del sys.modules[module]
    sys.meta_path.insert(0, blocked)  # type: ignore[arg-type]
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
