"""The platform of compose.yaml in containers, and all that can be done to it."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import docker
import docker.errors
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from tests.services.waiting import eventually

from . import composing, leftovers
from .images import IMAGE, SERVERS

KEY = "a-key-of-the-containers-alone-longer-than-32-characters"
LEFT_OUT = {"grafana", "collector"}
"""Their images can only be pulled."""
PROGRAMS = {"postgres": ["/usr/local/bin/postgres.sh"], "nats": ["nats-server"], "prometheus": ["prometheus"]}
"""What the image of the servers runs for each, in the place of the official images' entry points."""
SERVES = '"event": "serving"'
UP_S = 90.0
"""How long anything may take to come up; it only guards."""
STOP_S = 40


class Box(DockerContainer):
    """A container in several networks: in all of them before it starts."""

    def __init__(
        self, piece: composing.Piece, name: str, networks: Mapping[str, Network], aliases: list[str], port: int = 0
    ) -> None:
        """aliases: what it is called in its networks. port: this machine's, for the one that it publishes."""
        self.name = name
        self.piece = piece
        self.networks = {name: networks[name] for name in piece.networks}
        first, *self._others = self.networks.values()
        self.aliases = aliases
        self.port = port
        super().__init__(piece.image, network=first, network_aliases=self.aliases)
        self.with_kwargs(**piece.options, hostname=self.name, labels=leftovers.labels())
        if program := PROGRAMS.get(piece.name.partition("-")[0]):
            self.with_kwargs(**self._kwargs, entrypoint=program)
        if port:
            self.ports[str(piece.port)] = ("127.0.0.1", port)  # type: ignore[assignment]
        self.with_envs(**piece.environment)
        self.with_command(piece.command)
        for mount in piece.mounts:
            self.with_volume_mapping(mount.source, mount.target, mount.mode)

    def start(self) -> Box:
        client = self.get_docker_client()
        begin = client.start

        def join_and_begin(container: Any) -> None:
            for network in self._others:
                network.connect(container.id, self.aliases)
            begin(container)

        client.start = join_and_begin  # type: ignore[method-assign]
        super().start()
        return self

    # --- what is done to it

    async def kill(self) -> None:
        """SIGKILL, and nobody starts it again."""
        await asyncio.to_thread(self.get_wrapped_container().kill)

    async def again(self, words: str = SERVES) -> None:
        """Starts it after it has ended, and returns once it has said these words anew."""
        before = self.said(words)
        await asyncio.to_thread(self.get_wrapped_container().start)
        await eventually(lambda: asyncio.to_thread(lambda: self.said(words) > before), UP_S)

    async def leave_in_order(self) -> int:
        """SIGTERM, as an upgrade sends it; the exit code."""
        await asyncio.to_thread(self.get_wrapped_container().stop, timeout=STOP_S)
        return int((await asyncio.to_thread(self.get_wrapped_container().wait))["StatusCode"])

    def of_image(self, image: str) -> Box:
        """One that takes its place, from another image."""
        return Box(self.piece._replace(image=image), self.name, self.networks, self.aliases, self.port)

    def beside(self, image: str) -> Box:
        """One more of its service, from an image, that nobody calls."""
        return Box(self.piece._replace(image=image), f"{self.piece.name}-beside", self.networks, [])

    async def part(self, network: str) -> None:
        """Takes it out of a network, with all connections it has there."""
        wrapped = self.networks[network]._unwrap_network
        await asyncio.to_thread(wrapped.disconnect, self.get_container_id())

    async def join(self, network: str) -> None:
        """Brings it back into it."""
        await asyncio.to_thread(self.networks[network].connect, self.get_container_id(), self.aliases)

    async def pause(self) -> None:
        """Nothing in it moves."""
        await asyncio.to_thread(self.get_wrapped_container().pause)

    async def unpause(self) -> None:
        """It goes on."""
        await asyncio.to_thread(self.get_wrapped_container().unpause)

    # --- what is seen of it

    def said(self, words: str) -> int:
        """How often its log has these words."""
        return self.log().count(words)

    def log(self) -> str:
        """All it has said."""
        return self.get_wrapped_container().logs().decode("utf-8", "replace")

    async def measured(self, metric: str) -> float:
        """One of its metrics, with its labels where it has any, as it tells it now."""
        url = f"http://{self.address_in('inside')}:9100/metrics"
        text = (await asyncio.to_thread(_get, url)).decode()
        values = [line.split()[1] for line in text.splitlines() if line.split(" ")[0] == metric]
        return float(values[0])

    def address_in(self, network: str) -> str:
        """Its address there, as this machine reaches it."""
        self.reload()
        found = self.get_wrapped_container().attrs["NetworkSettings"]["Networks"]
        return str(found[self.networks[network].name]["IPAddress"])


class Stack:
    """All containers."""

    def __init__(self, boxes: dict[str, Box], folder: Path) -> None:
        """folder: where logs of those that are replaced are kept."""
        self.boxes = boxes
        self._folder = folder

    @property
    def gateways(self) -> list[str]:
        """host:port of each, as clients reach them from outside."""
        return [self.published(name) for name in self.of("gateway")]

    def published(self, name: str) -> str:
        """host:port at which this machine publishes a container's port."""
        return f"127.0.0.1:{self.boxes[name].port}"

    def of(self, service: str) -> list[str]:
        """The containers of a service, by name."""
        return [name for name, box in self.boxes.items() if box.piece.name == service]

    def database_url(self, service: str = "migrate") -> str:
        """Postgres as a service has it, from this machine: its network lets nothing out, but this machine is in it."""
        told = self.boxes[self.of(service)[0]].piece.environment["OMNIPOLY_DATABASE_URL"]
        return told.replace("@postgres:", f"@{self.boxes['postgres'].address_in('data')}:")

    async def replace(self, name: str, image: str) -> None:
        """Stops a container in order and has one from another image take its place, as Compose does; it serves then."""
        old = self.boxes[name]
        code = await old.leave_in_order()
        assert code == 0, old.log()
        await asyncio.to_thread(_retire, self.boxes.pop(name), self._folder, f"{name}-before")
        new = old.of_image(image)
        await asyncio.to_thread(new.start)
        self.boxes[name] = new
        await _serves(new)

    async def once(self, service: str, image: str) -> tuple[int, str]:
        """Runs one more of a service from an image until it ends; its exit code, and what it said."""
        box = self.boxes[self.of(service)[0]].beside(image)
        await asyncio.to_thread(box.start)
        try:
            return await asyncio.to_thread(box.wait), box.log()
        finally:
            await asyncio.to_thread(_retire, box, self._folder, box.name)

    async def prometheus(self, path: str) -> Any:
        """What Prometheus' API answers."""
        url = f"http://{self.published('prometheus')}/api/v1/{path}"
        return json.loads(await asyncio.to_thread(_get, url))["data"]


@asynccontextmanager
async def running(
    folder: Path, *, files: Mapping[str, Path], variables: Mapping[str, Mapping[str, str]]
) -> AsyncIterator[Stack]:
    """All of it, up and serving for the length of the block.

    folder: where its logs are kept in the end. files: what is mounted in the place of files of that name. variables:
    what services are told beside what the file tells them.
    """
    given = {
        "OMNIPOLY_IMAGE": IMAGE,
        "POSTGRES_IMAGE": SERVERS,
        "NATS_IMAGE": SERVERS,
        "PROMETHEUS_IMAGE": SERVERS,
        "OTLP_ENDPOINT": "",
        "SESSION_KEY": KEY,
    } | {name: f"s{secrets.token_hex(8)}" for name in composing.asked() if name.endswith("_PASSWORD")}
    composition = composing.read(given)
    boxes: dict[str, Box] = {}
    async with AsyncExitStack() as up:
        networks = {name: await _network(up, internal) for name, internal in composition.networks.items()}
        volumes = _Volumes(files)
        up.push_async_callback(volumes.remove)
        up.push_async_callback(_end, boxes, folder)
        waiting = {name: piece for name, piece in composition.pieces.items() if name not in LEFT_OUT}
        while waiting:
            ready = [name for name, piece in waiting.items() if not piece.after.keys() & waiting.keys()]
            begun: list[Box] = []
            for name in ready:
                piece = waiting.pop(name)
                await _conditions(piece, boxes)
                own = volumes.own(piece)
                own = own._replace(environment={**piece.environment, **variables.get(name, {})})
                for number in range(1, piece.replicas + 1):
                    called = f"{name}-{number}" if piece.replicas > 1 else name
                    port = _free_port() if piece.port else 0
                    begun.append(Box(own, called, networks, [name, *piece.aliases], port))
            await asyncio.gather(*(asyncio.to_thread(box.start) for box in begun))
            boxes |= {box.name: box for box in begun}
        stack = Stack(boxes, folder)
        services = [box for box in boxes.values() if box.piece.command[:1] == ["serve"]]
        await asyncio.gather(*(_serves(box) for box in services))
        yield stack


async def _conditions(piece: composing.Piece, boxes: dict[str, Box]) -> None:
    for name, condition in piece.after.items():
        for box in (box for box in boxes.values() if box.piece.name == name):
            if condition == "service_healthy":
                await eventually(lambda box=box: asyncio.to_thread(_healthy, box), UP_S)
            elif condition == "service_completed_successfully":
                code = await asyncio.to_thread(box.wait)
                assert code == 0, box.log()


def _healthy(box: Box) -> bool:
    box.reload()
    return bool(box.get_wrapped_container().attrs["State"]["Health"]["Status"] == "healthy")


async def _serves(box: Box) -> None:
    def looked() -> bool:
        box.reload()
        assert box.status == "running", f"{box.name} has ended: {box.log()}"
        return box.said(SERVES) > 0

    await eventually(lambda: asyncio.to_thread(looked), UP_S)


class _Volumes:
    """Volumes of this run alone, in the place of the file's names; and other files."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._run = secrets.token_hex(4)
        self._names: set[str] = set()

    def own(self, piece: composing.Piece) -> composing.Piece:
        mounts = []
        for mount in piece.mounts:
            if not mount.source.startswith("/"):
                mount = mount._replace(source=leftovers.volume(self._run, mount.source))
                self._names.add(mount.source)
            elif other := self._files.get(Path(mount.source).name):
                mount = mount._replace(source=str(other))
            mounts.append(mount)
        return piece._replace(mounts=mounts)

    async def remove(self) -> None:
        client = docker.from_env()
        for name in self._names:
            try:
                volume = client.volumes.get(name)
            except docker.errors.NotFound:
                continue  # its container never came to be
            await leftovers.removed(volume)
        client.close()


async def _network(up: AsyncExitStack, internal: bool) -> Network:
    network = Network(docker_network_kw={"internal": internal, "labels": leftovers.labels()})
    await asyncio.to_thread(network.create)
    up.push_async_callback(leftovers.removed, network)
    return network


async def _end(boxes: dict[str, Box], folder: Path) -> None:
    """Keeps all logs and removes all containers."""
    await asyncio.gather(*(asyncio.to_thread(_retire, box, folder, name) for name, box in boxes.items()))


def _retire(box: Box, folder: Path, name: str) -> None:
    """Keeps its log under a name and removes it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.log").write_text(box.log(), "utf-8")
    box.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bytes(answer.read())
