"""What these tests make is removed, also while the engine still counts it as used."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import docker.errors
import pytest

from . import leftovers
from .images import SERVERS


async def test_what_is_used_is_removed_once_it_is_not(engine_client: Any) -> None:
    name = leftovers.volume(secrets.token_hex(4), "data")
    volume = engine_client.volumes.create(name)
    network = engine_client.networks.create(name, labels=leftovers.labels())
    container = engine_client.containers.run(
        SERVERS,
        entrypoint=["sleep", "300"],
        network=name,
        volumes={name: {"bind": "/data", "mode": "rw"}},
        labels=leftovers.labels(),
        detach=True,
    )
    removing = asyncio.gather(leftovers.removed(network), leftovers.removed(volume))
    for thing in (network, volume):
        with pytest.raises(docker.errors.APIError) as refused:
            await asyncio.to_thread(thing.remove)
        assert refused.value.status_code in leftovers.IN_USE
    assert not removing.done()
    await asyncio.to_thread(container.remove, force=True)
    await removing
    for thing in (network, volume):
        with pytest.raises(docker.errors.NotFound):
            thing.reload()
