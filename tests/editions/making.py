"""Editions of one's own, made as anybody makes them: from what `omnipoly edition new` writes, or from nothing."""

from __future__ import annotations

from pathlib import Path

from tests.cli.calling import call

CHANGED = {
    # Las Poly's trains, factories, casino and three throws in prison stay; auctions are those of Rug Pull.
    'kind = "none"': 'kind = "open_until_passed"',
    "first_bid_exact = false": "first_bid_exact = true",
    "steps = []": "steps = [10, 50, 100]",
    # Money as in Globopoly: claimed rents, and exactly enough is enough. Trades at any time, as in Tubbypoly.
    'due = "debt"': 'due = "claimed"',
    "keep = 1": "keep = 0",
    'accept = "own_turn"': 'accept = "any_time"',
    'lapses = "with_receivers_turn"': 'lapses = "with_turn"',
    'currency = "LPD"': 'currency = "€"',
}


def nowhere(folder: Path) -> Path:
    """Writes ``nowhere.toml`` into a folder: Las Poly's board with the auctions, rents and trades of others."""
    path = folder / "nowhere.toml"
    assert call("edition", "new", path, "--from", "laspoly", "--title", "Middle of Nowhere") == 0
    text = path.read_text("utf-8")
    for line, other in CHANGED.items():
        assert text.count(f"\n{line}\n") == 1, line
        text = text.replace(f"\n{line}\n", f"\n{other}\n")
    path.write_text(text, "utf-8")
    assert call("edition", "check", path) == 0
    return path


def short(folder: Path) -> Path:
    """Writes ``short.toml``: all that an edition needs, in two modes, the second with a speed die."""
    path = folder / "short.toml"
    streets = [("street", name, at) for at, name in enumerate("ABCDEFGHI")]
    rows = [
        '{ kind = "start", name = "Go" }',
        *(
            f'{{ kind = "street", name = "Street {name}", group = "set {at // 3}", price = {60 + 20 * at}, '
            f"house_cost = 50 }}"
            for _, name, at in streets
        ),
        '{ kind = "jail", name = "Jail" }',
        '{ kind = "parking", name = "Park" }',
        '{ kind = "transport", name = "Ferry", price = 100 }',
        '{ kind = "utility", name = "Well", price = 100 }',
        '{ kind = "deck", name = "Luck", deck = "luck" }',
        '{ kind = "go_to_jail", name = "Off to jail" }',
    ]
    path.write_text(
        'id = "short"\ntitle = "Short"\ncurrency = "pence"\ncurrency_forms = ["penny", "pence"]\n'
        '[rules.rent]\nstreet = "of_price"\ntransport = [25]\nutility = [4]\n'
        "[decks]\nluck = [\n"
        '  { id = "find", collect = 1, text = "You find {collect}." },\n'
        '  { id = "lose", pay = 30, text = "You lose {pay}." },\n]\n'
        "[mode.plain]\n[mode.fast.rules.turn]\nspeed_die = true\n"
        '[[board]]\nid = "small"\nplayers = [2, 4]\nfield = [\n' + "".join(f"  {row},\n" for row in rows) + "]\n",
        "utf-8",
    )
    return path
