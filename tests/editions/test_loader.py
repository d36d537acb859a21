"""Editions by name, by path, by text; what cannot be read; the schema."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from omnipoly.editions import loader
from omnipoly.editions.model import Document
from omnipoly.editions.problems import EditionError, UnknownEdition

CLASSIC = Path(__file__).parent / "classic.toml"
DATA = Path(loader.__file__).parent / "data"


def _said(caught: pytest.ExceptionInfo[EditionError]) -> str:
    (problem,) = caught.value.problems
    return str(problem)


def test_an_edition_without_modes_goes_by_its_id() -> None:
    edition = loader.edition("laspoly")
    assert (edition.id, edition.mode, edition.title) == ("laspoly", "", "Las Poly")


def test_the_id_alone_means_the_first_mode() -> None:
    edition = loader.edition("globopoly")
    assert (edition.id, edition.mode, edition.title) == ("globopoly/classic", "classic", "Globopoly")
    assert edition == loader.edition("globopoly/classic")


def test_a_mode_may_have_a_title_of_its_own() -> None:
    edition = loader.edition("globopoly/quick")
    assert (edition.id, edition.mode, edition.title) == ("globopoly/quick", "quick", "Globopoly Quick")


def test_a_board_named_is_the_only_one_and_seats_fewer_too() -> None:
    edition = loader.edition("tubbypoly/ring56")
    assert (edition.id, edition.mode) == ("tubbypoly/ring56", "ring56")
    (board,) = edition.boards
    assert (board.id, board.players) == ("ring56", (2, 12))
    assert board.field == loader.edition("tubbypoly").boards[1].field


def test_a_board_named_is_played_by_the_first_mode() -> None:
    assert loader.edition("globopoly/ring40").rules == loader.edition("globopoly/classic").rules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tubbypoli", "there is no such edition; did you mean 'tubbypoly'?"),
        ("", "there is no such edition; there are: globopoly, laspoly, rugpull, tubbypoly"),
        ("../loader", "there is no such edition; there are: globopoly, laspoly, rugpull, tubbypoly"),
        ("globopoly/quik", "there is no mode or board 'quik'; did you mean 'quick'?"),
        ("globopoly/quick/ring40", "there is no mode or board 'quick/ring40'; did you mean 'ring40'?"),
        ("laspoly/fast", "there is no mode or board 'fast'; there are: ring40"),
    ],
)
def test_a_name_that_does_not_exist(name: str, said: str) -> None:
    with pytest.raises(UnknownEdition) as caught:
        loader.edition(name)
    assert _said(caught) == said


@pytest.mark.parametrize("name", [*loader.shipped(), "tubbypoly/ring56"])
def test_text_and_mode_give_the_same_edition_again(name: str) -> None:
    edition = loader.edition(name)
    again = loader.from_text(edition.text, edition.mode)
    assert again == edition
    assert edition.digest == hashlib.sha256(f"{edition.text}\0{edition.mode}".encode()).hexdigest()


def test_digests_tell_editions_apart() -> None:
    names = [*loader.shipped(), "tubbypoly/ring40", "tubbypoly/ring56", "tubbypoly/ring72"]
    assert len({loader.edition(name).digest for name in names}) == len(names)


def test_a_shipped_file_by_its_path_is_the_shipped_edition() -> None:
    assert loader.load(DATA / "globopoly.toml", "quick") == loader.edition("globopoly/quick")
    assert loader.load(str(DATA / "laspoly.toml")) == loader.edition("laspoly")


def test_lines_may_end_as_windows_ends_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(CLASSIC.read_bytes().replace(b"\n", b"\r\n"))
    edition = loader.load(path)
    assert edition.boards == loader.load(CLASSIC).boards
    assert edition == loader.from_text(edition.text)


def test_modes_lay_choices_over_each_other_and_replace_options(tmp_path: Path) -> None:
    text = CLASSIC.read_text() + (
        "\n[mode.usual]\n[mode.short.rules.jail]\ntries = 2\n"
        "[mode.short.options]\nclock = { default = 10, range = [5, 20] }\n"
    )
    usual, short = (loader.from_text(text, mode) for mode in ("usual", "short"))
    assert (usual.rules.jail.tries, short.rules.jail.tries) == (3, 2)
    assert short.rules.jail.bail == usual.rules.jail.bail
    assert usual.options.clock is not None
    assert short.options.clock is not None
    assert (usual.options.clock.values, short.options.clock.values) == ((20, 30, 45, 60, 90), ())
    assert short.options.start_cash == usual.options.start_cash


def test_a_mode_can_set_back_what_the_file_changes() -> None:
    text = CLASSIC.read_text() + "\n[rules.jail]\ntries = 2\n[mode.hard]\n[mode.soft.rules.jail]\ntries = 3\n"
    assert [loader.from_text(text, mode).rules.jail.tries for mode in ("hard", "soft")] == [2, 3]


def test_a_limit_of_rounds_is_an_option_of_every_edition() -> None:
    text = CLASSIC.read_text().replace("round_limit = { default = 0, range = [0, 1000] }\n", "")
    option = loader.from_text(text).options.round_limit
    assert option is not None
    assert (option.default, option.range) == (0, (0, 1000))


def test_what_no_type_can_show_is_told_too() -> None:
    """Python refuses to write out an integer of more than 4300 digits."""
    text = CLASSIC.read_text().replace("pay = 50", "pay = 0x" + "f" * 5000, 1)
    with pytest.raises(EditionError) as caught:
        loader.from_text(text)
    assert _said(caught).startswith("decks.chest, card doctor: pay cannot be a huge number; ")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'id = "x', "no TOML: Unterminated string (at end of document); mend it there; the format is TOML 1.0"),
        (b"id = " + b"9" * 5000, "no TOML: "),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte; save the file as UTF-8"),
        (b"\xef\xbb\xbfid = 1", "no TOML: Invalid statement (at line 1, column 1); "),
        (b"id = " + b"[" * 5000, "brackets are nested too deep; "),
        (b"id" + b".a" * 20_000 + b" = 1", "a line holds more than 128 full stops; "),
        (b"#" * (loader.LARGEST_FILE + 1), "the file is too large; keep it within 256 KiB"),
    ],
    ids=["broken", "long number", "not UTF-8", "byte order mark", "deep", "deep key", "large"],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(data)
    with pytest.raises(EditionError) as caught:
        loader.load(path)
    assert _said(caught).startswith(said)
    assert str(caught.value).startswith(f"{path}: ")


def test_keys_nested_deep_are_told_without_being_written_out() -> None:
    deep = "id." + ".".join("a" * loader.MOST_DOTS)
    with pytest.raises(EditionError) as caught:
        loader.from_text(CLASSIC.read_text().replace("id", deep, 1))
    assert _said(caught) == "id cannot be {'a': {'a': {...}}}; write a letter, then letters, digits or _"


def test_a_text_that_is_none_in_utf_8() -> None:
    with pytest.raises(EditionError) as caught:
        loader.from_text("# \ud800")
    assert _said(caught).startswith("no TOML: 'utf-8' codec can't encode")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EditionError) as caught:
        loader.load(tmp_path / "none.toml")
    assert _said(caught) == "cannot be read (No such file or directory); name a file that exists and may be read"
    with pytest.raises(EditionError):
        loader.load(tmp_path)
    with pytest.raises(EditionError):
        loader.load("a\0b")


def test_an_empty_file() -> None:
    with pytest.raises(EditionError) as caught:
        loader.from_text("")
    assert [problem.what for problem in caught.value.problems] == [
        "id is missing",
        "title is missing",
        "currency is missing",
        "board is missing",
    ]


def test_the_schema_describes_the_whole_file() -> None:
    schema = loader.schema()
    defined = schema["$defs"]
    assert set(defined["Document"]["properties"]) == set(Document.__struct_fields__)
    assert defined["Document"]["additionalProperties"] is False
    assert {"Board", "Field", "Card", "Place", "Choices", "JailChoices", "OptionChoices", "Mode"} <= defined.keys()
    assert "open_timed" in defined["AuctionChoices"]["properties"]["kind"]["enum"]
    assert json.dumps(schema)


def test_every_key_of_the_schema_is_described() -> None:
    for name, definition in loader.schema()["$defs"].items():
        for key, shown in definition["properties"].items():
            assert shown["description"], f"{name}.{key}"


def test_modes_of_a_file() -> None:
    assert loader.modes(DATA / "globopoly.toml") == ("classic", "quick")
    assert loader.modes(DATA / "laspoly.toml") == ("",)
