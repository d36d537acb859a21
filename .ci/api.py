"""Writes docs/clients/reference from the comments of the public contracts, a page for each proto file.

python .ci/api.py            write the pages
python .ci/api.py --check    say which differ from the contracts; exit 1 if any does

A service, method, message, field, enum or value without a comment is an error: the reference has no gaps.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from google.protobuf import descriptor_pb2 as pb

import protos

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs/clients/reference"
PUBLIC = ("omnipoly.gateway.v1", "omnipoly.game.v1")
WELL_KNOWN = "https://protobuf.dev/reference/protobuf/google.protobuf/"
STATUS = "https://github.com/googleapis/googleapis/blob/master/google/rpc/status.proto"

HEAD = "Written from `{path}` by `make protos`; not edited by hand. [All pages](README.md)\n"
README_HEAD = """\
# Reference

Written from the comments of the contracts by `make protos`; not edited by hand. A page for each file below
[protos/](../../../protos/omnipoly): first the services, which clients call, then what their messages are made of.
[How clients are written](../README.md) says what to do with it.
"""

SCALARS = {
    pb.FieldDescriptorProto.TYPE_BOOL: "bool",
    pb.FieldDescriptorProto.TYPE_BYTES: "bytes",
    pb.FieldDescriptorProto.TYPE_INT32: "int32",
    pb.FieldDescriptorProto.TYPE_INT64: "int64",
    pb.FieldDescriptorProto.TYPE_SINT32: "sint32",
    pb.FieldDescriptorProto.TYPE_STRING: "string",
    pb.FieldDescriptorProto.TYPE_UINT32: "uint32",
    pb.FieldDescriptorProto.TYPE_UINT64: "uint64",
}


class Gaps(Exception):
    """Parts of the contracts without a comment."""


class Page:
    """One proto file's page being written."""

    def __init__(self, file: pb.FileDescriptorProto, places: Mapping[str, str]) -> None:
        """places: page and anchor by full name of each public type."""
        self.file = file
        self.name = page_of(file)
        self.gaps: list[str] = []
        self._places = places
        self._comments = {tuple(at.path): at.leading_comments for at in file.source_code_info.location}

    def text(self) -> str:
        """The whole page, in Markdown."""
        file = self.file
        title = file.service[0].name if file.service else f"{file.package}: {Path(file.name).stem}"
        lines = [f"# {title}", "", HEAD.format(path=f"protos/{file.name}"), self._comment((12,), file.name)]
        for number, service in enumerate(file.service):
            lines += self._service(service, (6, number))
        for number, message in enumerate(file.message_type):
            lines += self._message(message, (4, number), "")
        for number, enum in enumerate(file.enum_type):
            lines += self._enum(enum, (5, number), "")
        return "\n".join(lines).rstrip() + "\n"

    def about(self) -> str:
        """What the file is about: the first paragraph of its comment."""
        return self._comment((12,), self.file.name).partition("\n\n")[0]

    def _comment(self, path: tuple[int, ...], name: str) -> str:
        paragraphs = self._comments.get(path, "").strip().split("\n\n")
        text = "\n\n".join(" ".join(line.strip() for line in one.splitlines()) for one in paragraphs)
        if not text:
            self.gaps.append(name)
        return _escaped(text)

    def _service(self, service: pb.ServiceDescriptorProto, path: tuple[int, ...]) -> Iterator[str]:
        full = f"{self.file.package}.{service.name}"
        yield from ("", self._comment(path, full), "", f"Full name: `{full}`.", "")
        yield from ("| method | takes | gives | what it does |", "|---|---|---|---|")
        for number, method in enumerate(service.method):
            takes = ("stream of " if method.client_streaming else "") + self._named(method.input_type)
            gives = ("stream of " if method.server_streaming else "") + self._named(method.output_type)
            meaning = self._comment((*path, 2, number), f"{full}.{method.name}")
            yield f"| `{method.name}` | {takes} | {gives} | {meaning} |"

    def _message(self, message: pb.DescriptorProto, path: tuple[int, ...], outer: str) -> Iterator[str]:
        name = f"{outer}{message.name}"
        yield from ("", f"## {name}", "", self._comment(path, f"{self.file.package}.{name}"))
        if message.field:
            yield from ("", "| field | number | type | what it is |", "|---|---|---|---|")
        for number, field in enumerate(message.field):
            meaning = self._comment((*path, 2, number), f"{self.file.package}.{name}.{field.name}")
            yield f"| `{field.name}` | {field.number} | {self._type(message, field)} | {meaning} |"
        for number, one in enumerate(message.oneof_decl):
            if not one.name.startswith("_"):  # `optional` is a oneof of one
                meaning = self._comment((*path, 8, number), f"{self.file.package}.{name}.{one.name}")
                yield from ("", f"One of `{one.name}`: {meaning}")
        for number, inner in enumerate(message.nested_type):
            yield from self._message(inner, (*path, 3, number), f"{name}.")
        for number, enum in enumerate(message.enum_type):
            yield from self._enum(enum, (*path, 4, number), f"{name}.")

    def _enum(self, enum: pb.EnumDescriptorProto, path: tuple[int, ...], outer: str) -> Iterator[str]:
        name = f"{outer}{enum.name}"
        yield from ("", f"## {name}", "", self._comment(path, f"{self.file.package}.{name}"))
        yield from ("", "| value | number | what it means |", "|---|---|---|")
        for number, value in enumerate(enum.value):
            meaning = self._comment((*path, 2, number), f"{self.file.package}.{name}.{value.name}")
            yield f"| `{value.name}` | {value.number} | {meaning} |"

    def _type(self, message: pb.DescriptorProto, field: pb.FieldDescriptorProto) -> str:
        text = SCALARS.get(field.type) or self._named(field.type_name)
        if field.label == pb.FieldDescriptorProto.LABEL_REPEATED:
            return f"repeated {text}"
        if field.proto3_optional:
            return f"optional {text}"
        if field.HasField("oneof_index"):
            return f"{text}, one of `{message.oneof_decl[field.oneof_index].name}`"
        return text

    def _named(self, name: str) -> str:
        name = name.removeprefix(".")
        if place := self._places.get(name):
            page, _, anchor = place.partition("#")
            own = _local(name)
            return f"[{own}]({'' if page == self.name else page}#{anchor})"
        if name == "google.rpc.Status":
            return f"[{name}]({STATUS})"
        return f"[{name}]({WELL_KNOWN}#{name.rpartition('.')[2].lower()})"


def page_of(file: pb.FileDescriptorProto) -> str:
    """The name of a file's page."""
    stem = Path(file.name).stem
    return f"{stem}.md" if file.package == PUBLIC[0] else f"game-{stem}.md"


def pages(files: list[pb.FileDescriptorProto]) -> dict[str, str]:
    """All pages by name. Raises ``Gaps``."""
    public = [file for file in files if file.package in PUBLIC]
    places = {full: f"{page_of(file)}#{anchor}" for file in public for full, anchor in _types(file)}
    made = [Page(file, places) for file in public]
    texts = {page.name: page.text() for page in made}
    if gaps := [gap for page in made for gap in page.gaps]:
        raise Gaps(", ".join(gaps))
    lines = [README_HEAD, "| page | about |", "|---|---|"]
    for page in sorted(made, key=lambda page: (not page.file.service, page.name)):
        title = page.file.service[0].name if page.file.service else f"{page.file.package}, {Path(page.file.name).stem}"
        lines.append(f"| [{title}]({page.name}) | {page.about()} |")
    return {"README.md": "\n".join(lines) + "\n", **texts}


def described(folder: Path) -> list[pb.FileDescriptorProto]:
    """The contracts below a folder, with their comments."""
    with tempfile.TemporaryDirectory() as place:
        image = Path(place) / "image"
        protos._write_image(image, folder, sorted(path.relative_to(folder).as_posix() for path in _sources(folder)))
        return list(pb.FileDescriptorSet.FromString(image.read_bytes()).file)


def _sources(folder: Path) -> Iterator[Path]:
    for package in PUBLIC:
        yield from folder.glob(f"{package.replace('.', '/')}/*.proto")


def _types(file: pb.FileDescriptorProto) -> Iterator[tuple[str, str]]:
    def of(messages: object, enums: object, outer: str) -> Iterator[tuple[str, str]]:
        for enum in enums:  # type: ignore[attr-defined]
            yield f"{file.package}.{outer}{enum.name}", f"{outer}{enum.name}".replace(".", "").lower()
        for message in messages:  # type: ignore[attr-defined]
            name = f"{outer}{message.name}"
            yield f"{file.package}.{name}", name.replace(".", "").lower()
            yield from of(message.nested_type, message.enum_type, f"{name}.")

    return of(file.message_type, file.enum_type, "")


def _local(name: str) -> str:
    for package in PUBLIC:
        name = name.removeprefix(f"{package}.")
    return name


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def main() -> int:
    """Runs as the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(description="Writes the reference of the public contracts.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    try:
        wanted = pages(described(protos.PROTOS))
    except Gaps as gaps:
        print(f"without a comment: {gaps}")
        return 1
    present = {path.name: path.read_text("utf-8") for path in TARGET.glob("*.md")}
    differing = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    for name in differing:
        if check:
            print(f"differs from the contracts: {TARGET.relative_to(ROOT) / name} (make protos)")
        elif name in wanted:
            TARGET.mkdir(parents=True, exist_ok=True)
            (TARGET / name).write_text(wanted[name], "utf-8")
        else:
            (TARGET / name).unlink()
    if not check:
        print(f"{len(wanted)} pages under {TARGET.relative_to(ROOT)}, {len(differing)} changed")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
