"""Writes the Python stubs of the contracts.

protos/omnipoly/<package>/v1/x.proto becomes the module omnipoly.wire.gen.<package>.v1.x_pb2.

protoc names modules after the path of the proto file, so that its output would import as `omnipoly.<package>.v1` and
shadow, or be shadowed by, the library of that name. The files are therefore moved below `omnipoly.wire.gen` and their
imports of each other are rewritten; descriptors, and with them everything on the wire, keep their proto names.

    python .ci/protos.py                write the stubs
    python .ci/protos.py --check        say which committed stubs differ from the contracts; exit 1 if any does
    python .ci/protos.py --image FILE   write the contracts as one descriptor set, for buf
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

import grpc_tools

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
TARGET = ROOT / "libs/omnipoly/wire/gen"
PACKAGE_DOC = '"""Generated from protos/ by `make protos`; not edited by hand."""\n'

# `from omnipoly.table.v1 import …` in stubs and typings, and the module name that messages carry.
OWN_IMPORT = re.compile(r"^from omnipoly\.(?=[\w.]+ import )", re.MULTILINE)
OWN_MODULE = re.compile(r"(BuildTopDescriptorsAndMessages\(DESCRIPTOR, ')omnipoly\.")


def main() -> int:
    """Runs as the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(description="Generates the Python stubs of the contracts.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--image", type=Path, metavar="FILE", help="write a descriptor set instead of stubs")
    parser.add_argument("--protos", type=Path, metavar="DIR", default=PROTOS, help="other contracts than protos/")
    arguments = parser.parse_args()

    protos: Path = arguments.protos
    sources = sorted(path.relative_to(protos).as_posix() for path in protos.glob("omnipoly/**/*.proto"))
    if not sources:
        print("no contracts under protos/ yet")
    if arguments.image:
        _write_image(arguments.image, protos, sources)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        wanted = _generate(Path(folder), protos, sources)
    present = {path.relative_to(TARGET).as_posix(): path.read_text("utf-8") for path in _files(TARGET)}
    differing = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    if arguments.check:
        for name in differing:
            print(f"differs from the contracts: {TARGET.relative_to(ROOT) / name} (make protos)")
        return 1 if differing else 0
    for name in differing:
        path = TARGET / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], "utf-8")
        else:
            path.unlink()
    for folder in sorted((path for path in TARGET.glob("**/") if not any(path.iterdir())), reverse=True):
        folder.rmdir()
    print(f"{len(sources)} contracts, {len(wanted)} files under {TARGET.relative_to(ROOT)}, {len(differing)} changed")
    return 0


def _generate(folder: Path, protos: Path, sources: Sequence[str]) -> dict[str, str]:
    """The text of each file below `omnipoly.wire.gen`, by its path there."""
    if not sources:
        return {}
    plugins = Path(sysconfig.get_path("scripts"))
    _protoc(
        protos,
        *(f"--plugin={plugin}={plugins / plugin}" for plugin in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")),
        f"--python_out={folder}",
        f"--grpc_python_out={folder}",
        f"--mypy_out=quiet:{folder}",
        f"--mypy_grpc_out=quiet:{folder}",
        *sources,
    )
    texts = {}
    for path in _files(folder):
        name = path.relative_to(folder / "omnipoly").as_posix()
        text = path.read_text("utf-8")
        if "_pb2_grpc.py" in name and "_to_server(" not in text:
            continue  # a contract without a service has nothing to say here
        text = OWN_IMPORT.sub("from omnipoly.wire.gen.", text)
        texts[name] = OWN_MODULE.sub(r"\1omnipoly.wire.gen.", text)
        for parent in Path(name).parents:
            texts[(parent / "__init__.py").as_posix()] = PACKAGE_DOC
    return texts


def _write_image(target: Path, protos: Path, sources: Sequence[str]) -> None:
    """Everything buf needs to lint, in one file: the contracts, what they import, and their comments."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if sources:
        _protoc(protos, "--include_imports", "--include_source_info", f"--descriptor_set_out={target}", *sources)


def _protoc(protos: Path, *arguments: str) -> None:
    site_packages = sysconfig.get_path("purelib")  # google/rpc/*.proto, from googleapis-common-protos
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{protos}", f"-I{well_known}", f"-I{site_packages}"]
    if finished := subprocess.run([*command, *arguments], check=False).returncode:
        sys.exit(finished)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py*") if path.suffix in {".py", ".pyi"})


if __name__ == "__main__":
    sys.exit(main())
