"""Writes the golden playthroughs anew (`make golden`). Read what has changed in them afterwards."""

from __future__ import annotations

import sys

from tests.golden import games


def main() -> None:
    """Write those that have changed, take away those of what ships no longer, and say which."""
    wanted = {game.path: game for game in games.shipped()}
    for path in sorted(games.FOLDER.glob("*.txt")):
        if path not in wanted:
            path.unlink()
            sys.stdout.write(f"taken away: {path.name}\n")
    for path, game in wanted.items():
        text = games.text(game)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"written: {path.name}\n")


if __name__ == "__main__":
    main()
