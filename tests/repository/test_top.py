"""How the repository is laid out, and that the checks of pyproject.toml see all of it."""

from __future__ import annotations

import re

from tests.repository.tree import ROOT, files, pyproject

TOP = {"protos", "services", "libs", "deploy", "tests", "docs", "Makefile", "README.md", "pyproject.toml"}


def test_few_names_at_the_top() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in files()}
    assert {name for name in names if not name.startswith(".")} <= TOP


def test_every_package_has_its_place_in_the_layers() -> None:
    layers = pyproject()["tool"]["importlinter"]["contracts"][0]["layers"]
    placed = set(re.findall(r"[a-z_.]+", " ".join(layers)))
    packages = {
        f"{package.parent.name}.{package.stem}"
        for source in ("libs/omnipoly", "services/omnipolyd")
        for package in (ROOT / source).iterdir()
        if (package.is_dir() and any(package.rglob("*.py"))) or (package.suffix == ".py" and package.stem[0] != "_")
    }
    assert packages - placed == set()


def test_modules_are_not_long() -> None:
    lengths = {
        path.relative_to(ROOT): path.read_bytes().count(b"\n")
        for path in files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "libs") | path.is_relative_to(ROOT / "services")
    }
    assert {path: length for path, length in lengths.items() if length > 450 and "gen" not in path.parts} == {}
