"""What the repository's texts must not say, and where their links must lead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, files

# Put together here, so that this file does not find itself.
PLACES = [
    *(rf"\b{name}\.{end}\b" for name, end in [("pypi", "org"), ("pythonhosted", "org"), ("registry.npmjs", "org")]),
    *(rf"\b{name}\.{end}\b" for name, end in [("deb.debian", "org"), ("yarnpkg", "com"), ("proxy.golang", "org")]),
    *(rf"(?<![\w.*$}}{{~-])/{folder}/" for folder in ("work", "root", "home/runner", "Users")),
]
FORBIDDEN = re.compile("|".join(PLACES))
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def test_no_file_names_a_package_index_or_a_build_machine() -> None:
    found = []
    for path in files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in FORBIDDEN.finditer(text)]
    assert found == []


@pytest.mark.parametrize("text", ["see https://pypi.{}/simple", "cd /{}/main", "FROM registry.npmjs.{}"])
def test_the_patterns_find_what_they_are_for(text: str) -> None:
    end = "work" if "cd" in text else "org"
    assert FORBIDDEN.search(text.format(end))


@pytest.mark.parametrize("page", [path for path in files() if path.suffix == ".md"], ids=lambda path: path.name)
def test_relative_links_lead_to_something_in_the_repository(page: Path) -> None:
    kept = set(files())
    kept |= {parent for path in kept for parent in path.parents}
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path in kept, f"{page.relative_to(ROOT)} links to {target}"
        if anchor and path.suffix == ".md":
            assert anchor in _anchors(path), f"{page.relative_to(ROOT)} links to {target}"


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings: lower case, spaces become hyphens, punctuation goes."""
    headings = re.findall(r"^#+ +(.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
