"""One platform in containers for all tests of this folder. `make test-containers` makes the engine and the images."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest

from . import engine, images, monitoring
from .stack import Stack, running

LOGS = images.ROOT / "build/containers"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A limit for those that restart the whole platform; it only guards against hanging."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def engine_client() -> object:
    """Docker's own API. Fails plainly where there is no engine, or no image to run."""
    if not engine.answers():
        pytest.fail("no Docker engine answers; make test-containers starts one")
    client = docker.from_env()
    for name in (images.IMAGE, images.SERVERS):
        if not client.images.list(name):
            pytest.fail(f"there is no image {name}; make test-containers builds it")
    return client


@pytest.fixture(scope="session")
async def stack(engine_client: object, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """The platform of deploy/compose; whoever breaks something of it mends it."""
    folder = tmp_path_factory.mktemp("monitoring")
    files = {"rules.yaml": monitoring.hasty_rules(folder), "prometheus.yaml": monitoring.hasty_config(folder)}
    async with running(LOGS, files=files, variables={"bots": {"OMNIPOLY_BOTS_THINKING_S": "0"}}) as made:
        yield made
