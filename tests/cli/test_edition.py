"""`omnipoly edition`: what there is, what it means, what is wrong with a file, and a file to begin with."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from google.protobuf import json_format

from omnipoly.editions import loader, page, writing
from omnipoly.editions.model import Edition
from omnipoly.editions.texts import Words
from omnipoly.wire.gen.game.v1 import edition_pb2
from tests.cli.calling import call

DATA = Path(loader.__file__).parent / "data"
DOCS = Path(__file__).parents[2] / "docs"
Capture = pytest.CaptureFixture[str]


def said(capsys: Capture, *arguments: object) -> str:
    """What a command that ends well prints."""
    code = call("edition", *arguments)
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def flat(text: str) -> str:
    """Without what a table breaks lines with."""
    return " ".join(text.split())


# --- list, show -------------------------------------------------------------------------------------------------------


def test_every_mode_is_listed(capsys: Capture) -> None:
    out = said(capsys, "list")
    assert all(name in out for name in loader.shipped())
    assert "Globopoly Quick" in out
    assert "Глобополия: быстрый" in said(capsys, "list", "--language", "ru")
    listed = json.loads(said(capsys, "list", "--json"))["editions"]
    assert [edition["id"] for edition in listed] == list(loader.shipped())


def test_a_folder_of_ones_own_is_listed_too(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "new", "--from", "globopoly", tmp_path / "world.toml", "--title", "World tour")
    out = said(capsys, "list", "--editions", tmp_path)
    assert "world/classic" in out
    assert "world/quick" in out
    assert "World tour" in out


@pytest.mark.parametrize("name", [*loader.shipped(), "tubbypoly/ring72", str(DATA / "laspoly.toml")])
def test_all_of_an_edition_is_shown(capsys: Capture, name: str) -> None:
    file, dot, mode = name.partition(".toml")
    edition = loader.load(f"{file}.toml", mode) if dot else loader.edition(name)
    out = said(capsys, "show", name)
    words = flat(out)
    assert edition.title in words
    assert edition.digest in words
    for board in edition.boards:
        assert board.id in words
        for field in board.field:
            assert field.name in words
            assert str(field.price or "") in words
    for deck in edition.decks.values():
        assert all(card.id in words for card in deck)
    for topic in edition.rules.__struct_fields__:
        for choice in getattr(edition.rules, topic).__struct_fields__:
            assert f"{topic}.{choice}"[:20] in words
    assert "(CORE-PHASE)" in words or "LAS-TURN" in words


def test_rents_are_shown_whole(capsys: Capture) -> None:
    rows = [flat(line) for line in said(capsys, "show", "tubbypoly/ring56").splitlines()]
    assert "rent bare 2 of set set 1 2 3 4 hotel" in rows
    assert "Sky street 1 6 9 12 30 90 270 400 550" in rows
    rows = [flat(line) for line in said(capsys, "show", "rugpull").splitlines()]
    assert "Whale Heights 32 64 160 480 1280 1760 2240" in rows
    assert "Mining farm ×4 ×10" in rows
    rows = [flat(line) for line in said(capsys, "show", "laspoly").splitlines()]
    assert "North Station 50 100 200 400" in rows
    assert "High Roller Hill 400 200 440 200 400 50" in rows


def test_an_edition_is_shown_in_russian(capsys: Capture) -> None:
    out = flat(said(capsys, "show", "globopoly", "--language", "ru"))
    edition = loader.edition("globopoly")
    words = Words(edition, "ru")
    assert all(words.name(field.name) in out for field in edition.boards[0].field)
    assert "Вы сели не на тот поезд" in out
    assert "Casablanca" not in out


def test_json_is_what_a_client_gets(capsys: Capture) -> None:
    message = json_format.Parse(
        said(capsys, "show", "globopoly/quick", "--json", "--language", "ru"), edition_pb2.Edition()
    )
    assert (message.id, message.language, message.boards[0].fields[24].name) == ("globopoly/quick", "ru", "Париж")
    assert message.boards[0].fields[24].rent_table[1].amount == 40


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("show", "nopoly"), "nopoly: there is no such edition; did you mean 'globopoly'?"),
        (("show", "globopoly/slow"), "globopoly.toml: there is no mode or board 'slow'"),
        (("show", "none.toml"), "none.toml: cannot be read"),
        (("list", "--editions", DATA / "none"), "none is not there"),
    ],
)
def test_what_is_not_there(capsys: Capture, arguments: tuple[object, ...], sentence: str) -> None:
    assert call("edition", *arguments) in (1, 2)
    assert sentence in capsys.readouterr().err


# --- check ------------------------------------------------------------------------------------------------------------


def test_files_that_are_right(capsys: Capture) -> None:
    out = said(capsys, "check", *sorted(DATA.glob("*.toml")))
    assert out.count(": right; ") == 4
    assert "Globopoly, to be played as globopoly/classic, globopoly/quick" in out


def test_every_mistake_is_told_with_its_place_and_remedy(capsys: Capture, tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong.toml", tmp_path / "right.toml"
    text = (DATA / "tubbypoly.toml").read_text("utf-8")
    right.write_text(text, "utf-8")
    text = text.replace('kind = "open_timed"', 'kind = "dutch"').replace("pay {pay}.", "pay 50.", 1)
    wrong.write_text(text, "utf-8")
    assert call("edition", "check", wrong, right, tmp_path / "none.toml") == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == (
        f"{wrong}: rules.auction: kind cannot be 'dutch'; "
        'write "in_turn" or "none" or "open_timed" or "open_until_passed"'
    )
    assert told[1].startswith(f"{wrong}: decks.chest, card doctor: its text holds a number")
    assert told[2].startswith(f"{right}: right; Tubbypoly")
    assert told[3].startswith(f"{tmp_path / 'none.toml'}: cannot be read")


# --- new --------------------------------------------------------------------------------------------------------------


def _same(ours: Edition, theirs: Edition) -> None:
    for part in ("currency", "currency_forms", "rules", "options", "decks", "language"):
        assert getattr(ours, part) == getattr(theirs, part), part
    assert [board.field for board in ours.boards] == [board.field for board in theirs.boards]


@pytest.mark.parametrize("name", ["globopoly", "laspoly", "rugpull", "tubbypoly"])
def test_a_new_file_plays_as_the_edition_it_is_made_from(capsys: Capture, tmp_path: Path, name: str) -> None:
    file = tmp_path / "mine.toml"
    assert "written" in said(capsys, "new", file, "--from", name, "--title", "My “own” game")
    assert said(capsys, "check", file).startswith(f"{file}: right; My “own” game")
    assert loader.modes(file) == loader.modes(DATA / f"{name}.toml")
    for mode in loader.modes(file):
        ours, theirs = loader.load(file, mode), loader.edition(f"{name}/{mode}" if mode else name)
        assert ours.id.partition("/")[0] == "mine"
        assert ours.digest != theirs.digest
        _same(ours, theirs)
        assert ours.boards == theirs.boards
        assert ours.texts.keys() == theirs.texts.keys()
        assert all(ours.texts[each].cards == theirs.texts[each].cards for each in ours.texts)


@pytest.mark.parametrize("name", ["globopoly/quick", "tubbypoly/ring56", "tubbypoly/ring40"])
def test_a_new_file_of_one_mode_or_board(capsys: Capture, tmp_path: Path, name: str) -> None:
    file = tmp_path / "mine.toml"
    said(capsys, "new", file, "--from", name)
    ours, theirs = loader.load(file), loader.edition(name)
    assert (ours.id, ours.title, loader.modes(file)) == ("mine", "mine", ("",))
    _same(ours, theirs)


def test_a_new_file_explains_every_choice(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    said(capsys, "new", file, "--from", "rugpull")
    text = file.read_text("utf-8")
    for topic, choices in tomllib.loads(text)["rules"].items():
        for choice in choices:
            above = text[: text.index(f"\n{choice} = ", text.index(f"[rules.{topic}]"))].splitlines()[-1]
            assert above.startswith("# "), (topic, choice)
    assert "# start_bonus_exact = …" in text
    assert "#   open_until_passed: open cry until all but the high bidder have passed (RUG-AUCTION)." in text
    assert max(map(len, (line for line in text.splitlines() if line.startswith("#")))) <= 120


def test_a_new_file_never_takes_the_place_of_another(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("mine alone")
    assert call("edition", "new", file) == 2
    assert capsys.readouterr().err == f"omnipoly: {file} is there already, and is left as it is\n"
    assert file.read_text() == "mine alone"


@pytest.mark.parametrize(
    ("file", "more", "sentence"),
    [
        ("my game.toml", (), "an edition cannot have the id my game"),
        ("x.toml", ("--id", "7up"), "an edition cannot have the id 7up"),
        ("laspoly.toml", (), "there is an edition laspoly already"),
        ("x.toml", ("--id", "globopoly"), "there is an edition globopoly already"),
        ("none/x.toml", (), "No such file or directory"),
        ("x.toml", ("--from", "nopoly"), "there is no such edition"),
    ],
)
def test_a_new_file_that_cannot_be(
    capsys: Capture, tmp_path: Path, file: str, more: tuple[str, ...], sentence: str
) -> None:
    assert call("edition", "new", tmp_path / file, *more) in (1, 2)
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_edition_of_ones_own_can_be_what_another_is_made_from(capsys: Capture, tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    said(capsys, "new", first, "--from", "globopoly")
    said(capsys, "new", second, "--from", f"{first}/quick")
    assert loader.load(second).rules == loader.edition("globopoly/quick").rules


# --- schema, reference ------------------------------------------------------------------------------------------------


def test_the_schema_is_printed(capsys: Capture) -> None:
    assert json.loads(said(capsys, "schema")) == json.loads(json.dumps(loader.schema()))


def test_the_page_on_editions_ends_with_the_reference(capsys: Capture) -> None:
    reference = said(capsys, "reference")
    assert reference == page.reference()
    text = (DOCS / "editions.md").read_text("utf-8")
    assert text.endswith("\n\n" + reference), "let docs/editions.md end with what `omnipoly edition reference` prints"


def test_what_the_page_says_of_mistakes_is_said() -> None:
    text = loader.edition("tubbypoly").text
    for right, wrong in (
        ('kind = "open_timed"', 'kind = "dutch"'),
        ('name = "Boiler house", price = 150', 'name = "Boiler house", price = 0'),
        ("Running by the pool: pay {pay}.", "Running by the pool: pay 15."),
    ):
        assert right in text
        text = text.replace(right, wrong, 1)
    with pytest.raises(loader.EditionError) as caught:
        loader.from_text(text, source="my.toml")
    assert set(str(caught.value).splitlines()) == {
        line.strip()
        for line in (DOCS / "editions.md").read_text("utf-8").splitlines()
        if line.startswith("    my.toml: ")
    }


def test_an_id_that_can_be() -> None:
    assert [name for name in ("a", "A1_b", "1a", "a-b", "", "a" * 33, "a\n") if writing.is_id(name)] == ["a", "A1_b"]
