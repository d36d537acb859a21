"""The image itself: who runs in it, what is in it, and how much."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repository.tree import pyproject

from .images import IMAGE

MOST_BYTES = 200_000_000
TOOLS = ("gcc", "cc", "g++", "ld", "as", "make", "pip", "pip3", "hatchling", "git", "curl")


def run(client: Any, script: str) -> str:
    """What a shell says inside, locked up as the services are."""
    said: bytes = client.containers.run(
        IMAGE,
        ["-c", script],
        entrypoint="/bin/sh",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        network_mode="none",
        remove=True,
    )
    return said.decode()


def test_it_says_what_it_is(engine_client: Any) -> None:
    labels = engine_client.images.get(IMAGE).labels
    assert labels["org.opencontainers.image.version"] == pyproject()["project"]["version"]
    assert len(labels["org.opencontainers.image.revision"]) == 40


def test_it_is_small(engine_client: Any) -> None:
    image = engine_client.images.get(IMAGE)
    base = engine_client.images.get(image.labels["org.opencontainers.image.base.name"])
    assert image.attrs["Size"] - base.attrs["Size"] < MOST_BYTES


def test_nobody_in_it_is_root_and_nothing_can_be_installed(engine_client: Any) -> None:
    found = run(engine_client, f"id -u; for tool in {' '.join(TOOLS)}; do command -v $tool; done; python3 -m pip; true")
    assert found.split() == ["10001"]
    with pytest.raises(Exception, match="Read-only file system"):
        run(engine_client, "touch /opt/omnipoly/here")


def test_it_is_the_daemon(engine_client: Any) -> None:
    said = engine_client.containers.run(IMAGE, read_only=True, cap_drop=["ALL"], network_mode="none", remove=True)
    assert b"omnipolyd [OPTIONS] COMMAND" in said


def test_modules_are_compiled_already(engine_client: Any) -> None:
    found = run(engine_client, "cd /opt/omnipoly/lib/python3*/site-packages; ls omnipolyd/table/__pycache__ | wc -l")
    assert int(found) > 20
