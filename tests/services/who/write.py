"""Writes ``docs/who-may-call.md`` from the table: ``python -m tests.services.who.write``."""

from __future__ import annotations

from pathlib import Path

from tests.services.who import cells

PAGE = Path(__file__).parents[3] / "docs/who-may-call.md"

HEAD = Path(__file__).with_name("head.txt").read_text("utf-8")


def page() -> str:
    """The page's text."""
    out, service = [HEAD], ""
    names = [name.replace("_", " ") for name in cells.CALLERS]
    for rpc, row in cells.read().items():
        found, _, method = rpc.partition(".")
        if found != service:
            service = found
            out.append(f"\n## {service}\n\n| | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n")
        shown = [
            "✓" if cell == cells.YES else cell if cell in (cells.RULES, cells.KEY) else f"`{cell}`"
            for cell in row.values()
        ]
        out.append(f"| {method} | {' | '.join(shown)} |\n")
    return "".join(out)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
