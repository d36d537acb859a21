"""The lock file and the committed stubs are in step with pyproject.toml."""

from __future__ import annotations

import re

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.tree import ROOT, pyproject

LOCK = (ROOT / ".ci/requirements.lock").read_text("utf-8")
STUBS = ROOT / "libs/omnipoly/wire/gen"


def _requirements() -> dict[str, Requirement]:
    project = pyproject()["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["server"], *extras["dev"]]
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, named)}


def test_the_lock_meets_every_requirement() -> None:
    locked = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", LOCK, re.MULTILINE))
    unmet = [
        str(needed) for name, needed in _requirements().items() if not needed.specifier.contains(locked.get(name, "0"))
    ]
    assert unmet == [], "make lock"


def test_everything_locked_has_hashes_and_no_address() -> None:
    entries = re.split(r"^(?=[A-Za-z0-9])", re.sub(r"^ *#.*\n", "", LOCK, flags=re.MULTILINE), flags=re.MULTILINE)[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|^--", LOCK, re.MULTILINE)


def test_the_stubs_run_with_the_oldest_releases_allowed() -> None:
    texts = [path.read_text("utf-8") for path in STUBS.rglob("*_pb2*.py")]
    protobuf = {found[1] for text in texts if (found := re.search(r"Protobuf Python Version: (\S+)", text))}
    grpcio = {found[1] for text in texts if (found := re.search(r"GRPC_GENERATED_VERSION = '(.+)'", text))}
    requirements = _requirements()
    assert [str(spec) for spec in requirements["protobuf"].specifier] == [f">={version}" for version in protobuf]
    assert [str(spec) for spec in requirements["grpcio"].specifier] == [f">={version}" for version in grpcio]
