"""What the page consists of: its own files, and the contracts as a descriptor set made from the installed stubs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.rpc import error_details_pb2

from omnipoly.wire.gen.gateway.v1 import (
    chat_pb2,
    lobby_pb2,
    play_pb2,
    sessions_pb2,
    trades_pb2,
    wallet_pb2,
    watch_pb2,
)

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor

STATIC = Path(__file__).parent / "static"
CONTRACTS = "contracts.binpb"

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".binpb": "application/octet-stream",
}
"""What is served, by the end of a file's name; other files are none of the page's."""

_SPOKEN = (chat_pb2, lobby_pb2, play_pb2, sessions_pb2, trades_pb2, wallet_pb2, watch_pb2, error_details_pb2)


class Served(NamedTuple):
    """One file of a site."""

    path: str
    """In its address, from the first stroke."""
    file: Path
    kind: str
    """Its media type."""


def site(folders: Sequence[Path], contracts: Path) -> list[Served]:
    """The files below some folders by their addresses, with the contracts beside them; `index.html` is also `/`.

    Where two have the same address, the folder named first is served.
    """
    found = {served.path: served for folder in reversed(folders) for served in _files(folder)}
    return [*found.values(), Served(f"/{CONTRACTS}", contracts, TYPES[".binpb"])]


def _files(folder: Path) -> Iterator[Served]:
    for file in sorted(path for path in folder.rglob("*") if path.suffix in TYPES):
        path = f"/{file.relative_to(folder).as_posix()}"
        yield Served(path, file, TYPES[file.suffix])
        if file.name == "index.html":
            yield Served(path.removesuffix("index.html"), file, TYPES[file.suffix])


def contracts() -> bytes:
    """The public contracts with all that they import, each file behind those it needs: a `FileDescriptorSet`."""
    found: dict[str, FileDescriptor] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in found:
            for needed in file.dependencies:
                add(needed)
            found[file.name] = file

    for module in _SPOKEN:
        add(module.DESCRIPTOR)
    described = FileDescriptorSet()
    for file in found.values():
        described.file.add().ParseFromString(file.serialized_pb)
    return described.SerializeToString(deterministic=True)
