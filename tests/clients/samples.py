"""The pieces of code in docs/clients, as the pages have them.

Behind a fence stands the language and what becomes of the piece: `run` (all of a page's pieces of a language are one
program), `library run` (with the library in place of stubs), `by hand` (not run: it installs something, or waits for
somebody), or of `textproto` the type of message it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.clients.stubs import ROOT

PAGES = ROOT / "docs/clients"
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HERE = "localhost:7100"
"""What the pages call the gateway."""


class Sample(NamedTuple):
    """A piece of code."""

    page: str
    language: str
    what: str
    """What stands behind the language."""
    text: str


def samples() -> list[Sample]:
    """All of them, by page and place."""
    found = []
    for path in sorted(PAGES.glob("*.md")):
        for language, what, text in FENCE.findall(path.read_text("utf-8")):
            found.append(Sample(path.name, language, what.strip(), text))
    return found


def program(of: list[Sample], page: str, language: str, what: str, address: str) -> str:
    """The pieces of a page that are one program, for a gateway at an address; "" where there are none."""
    mine = [one.text for one in of if (one.page, one.language, one.what) == (page, language, what)]
    return "\n".join(mine).replace(HERE, address)


def pages() -> list[Path]:
    """The pages."""
    return sorted(PAGES.glob("*.md"))
