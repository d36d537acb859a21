"""Sentences as data: each language has all of them, and every one is told with what it names."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest

from omnipoly.cli import choosing, screen
from omnipoly.client import record, sentences, teller
from omnipoly.client.teller import Teller
from omnipoly.client.wording import Keys, Wording, WordingError
from omnipoly.editions import loader
from omnipoly.editions.languages import GRAMMARS
from omnipoly.rules import engine, events, listing
from omnipoly.rules.actions import Side
from omnipoly.rules.events import Reason
from omnipoly.rules.ring import Game
from omnipoly.rules.state import BANK, CASINO, FACTORY, HOTEL, Away, Choice, Debt, OpenOffer, Options, Out, State
from tests.client.games import played

LANGUAGES = pytest.mark.parametrize("language", GRAMMARS)


@LANGUAGES
@pytest.mark.parametrize("package", ["omnipoly.client", "omnipoly.cli"])
def test_there_is_a_file_for_every_language_and_no_other(package: str, language: str) -> None:
    files = {file.name for file in (resources.files(package) / "lines").iterdir()}
    assert files == {f"{each}.toml" for each in GRAMMARS}
    assert teller.wording(language).language == screen.screen(language).language == language  # type: ignore[arg-type]


# --- every sentence ---------------------------------------------------------------------------------------------------


def _state(edition: str = "globopoly") -> State:
    """Two seats, a lot of each, a house and a mortgage, a debt, an offer."""
    s = engine.blank(Game(loader.edition(edition)).first)
    s.holder, s.name = ["guest:1", "bot:1"], ["Анна", "ben"]
    s.owner, s.level = ([value] * s.rules.fields_n for value in (-1, 0))
    s.mortgaged = [False] * s.rules.fields_n
    s.position = [24, 0]
    s.owner[24], s.owner[21], s.mortgaged[21], s.lot = 1, 0, True, 23
    s.debts = (Debt(1, 0, 1, 30, "rent"),)
    s.offers = (OpenOffer(1, 0, 1, Side(20, (21,), ("x", "y")), Side(fields=(24,)), (21,), 0),)
    return s


def _with_level(level: int) -> State:
    s = _state("laspoly")
    s.level[24] = level
    return s


E = events
TOLD: list[tuple[State, Any]] = [
    (_state(), event)
    for event in (
        *(
            E.TableOpened("t", "globopoly", "d", "guest:1", Options(), commitment, dev=True)
            for commitment in ("c0", "")
        ),
        *(E.SeatTaken(1, "bot:1", "ben", bot) for bot in (True, False)),
        E.SeatFreed(1),
        E.OptionsSet(Options(round_limit=1, time_limit_min=22, entry_fee=5)),
        E.OptionsSet(Options(private=True, viewers_chat=True, viewers_take_bots=True)),
        E.Contributed("guest:1", "семь"),
        *(E.HostChanged(person) for person in ("guest:1", "", "admin:root")),
        *(
            E.Connected(0),
            E.Disconnected(0),
            E.CameBack(0),
            E.Paused(1),
            E.Frozen(0),
            E.Thawed(0),
            E.Resumed(1),
            E.ClocksMoved(1500),
        ),
        *(E.WentAway(0, why) for why in Away if why),
        E.Advanced(60_000),
        E.SeatHandedOver(0, "bot:2", "Бот", True, "guest:1"),
        *(E.SeatHandedOver(0, "guest:2", name, False, "") for name in ("Вера", "Анна")),
        *(E.SeatOut(0, how, 1) for how in Out if how),
        E.LimitReached(),
        *(E.GameEnded(why, (1, 2)) for why in ("last_standing", "round_limit", "time_limit", "vote", "alone")),
        *(E.GameEnded(why, ()) for why in ("closed", "idle", "abandoned")),
        *(E.SeedRevealed("ff"), E.OrderDecided((1, 0)), E.TurnStarted(0, 3)),
        *(E.DiceThrown(0, 1, (3, 3), speed, "walk") for speed in ("", "2", "city", "choice")),
        *(E.DiceThrown(0, 1, (3, 4), "", purpose) for purpose in ("order", "jail", "utility")),
        *(E.Moved(0, 1, 24, way, False) for way in ("walk", "card", "back", "jump", "ride", "teleport")),
        E.TripletThrown(9),
        *(E.ChoiceOffered(0, choice) for choice in Choice if choice),
        E.ThrowPlayed(0, True),
        *(E.Jailed(0, why) for why in ("doubles", "field", "card")),
        E.TryFailed(0, 1, 1),
        *(E.Released(0, how) for how in ("double", "bail", "card", "last_try")),
        E.CardDrawn(0, "reward", "doctor", 1),
        E.CardReturned(0, "jail_free_chance"),
        E.CardMoved("jail_free_chance", 0, 1),
        E.LotAnswered(0, 24, "declined"),
        *(
            E.LotMoved(24, -1, "sold"),
            E.LotMoved(26, 0, "dealt"),
            E.LotMoved(24, 0, "traded"),
            E.LotMoved(24, -1, "estate"),
        ),
        *(E.LevelChanged(0, 24, level) for level in (1, HOTEL, FACTORY)),
        *(E.MortgageChanged(0, 24, mortgaged) for mortgaged in (True, False)),
        *(E.AuctionOpened(1, 23, by, -1, 0, 0) for by in (-1, 1)),
        E.BidMade(1, 0, 230, -1, 0),
        *(E.BidderPassed(1, 0, why, -1) for why in ("passed", "short", "clock")),
        E.BidsFell(1, 0, -1, 0),
        *(E.AuctionClosed(1, 23, winner, 230) for winner in (0, -1)),
        E.OfferMade(1, 0, 1, Side(20), Side(fields=(24,)), (), 0),
        *(E.OfferClosed(1, how) for how in ("accepted", "refused", "withdrawn", "expired", "lapsed", "void")),
        *(
            E.Paid(payer, payee, 30, reason)
            for reason in Reason
            for payer, payee in ((0, BANK), (BANK, 0), (0, CASINO))
        ),
        *(E.DebtOpened(2, 0, 1, 30, reason) for reason in Reason),
        *(E.DebtClosed(1, "void"), E.DebtPassed(1, BANK)),
        *(E.RentClaimable(1, 0, 24, 30, 0), E.RentClaimed(1, 0, 24), E.RentLapsed(1, 0, 24, 30)),
        *(E.LiquidationStarted(0), E.LiquidationEnded(0)),
        *(E.VoteOpened(1, "guest:1", 0), E.Voted(1, "guest:1", True), E.Voted(1, "guest:1", False)),
        *(E.VoteClosed(1, how) for how in ("passed", "failed", "fallen")),
    )
]
TOLD += [
    (_with_level(before), E.LevelChanged(0, 24, after)) for before, after in ((2, 1), (HOTEL, 4), (FACTORY, 0), (3, 0))
]


@LANGUAGES
def test_every_sentence_and_every_part_is_told_with_what_it_names(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: set[str] = set()
    render = {"line": Wording.line, "phrase": Wording.phrase}

    def spy(table: str, declared: dict[str, tuple[str, ...]]) -> Any:
        def told(self: Wording, key: str, **values: object) -> str:
            used.add(f"{table} {key}")
            assert set(values) == {name.rstrip("?") for name in declared[key]}, key
            return render[table](self, key, **values)

        return told

    monkeypatch.setattr(Wording, "line", spy("line", sentences.LINES))
    monkeypatch.setattr(Wording, "phrase", spy("phrase", sentences.PHRASES))
    for s, event in TOLD:
        line = record.line(s, event, language)
        assert line is not None, event
        assert "{" not in line.text
        assert line.text == line.text.strip()
    started = _state()
    record.line(started, E.GameStarted("ring40", Options(), limit_ms=0, started_ms=1), language)
    record.line(started, E.PositionSet(started), language)
    Teller(started, language).side(Side())
    Teller(started, language).phrase("offer", proposer=Teller(started, language).party(0), give="", take="")
    rugpull = _state("tubbypoly")
    record.line(rugpull, E.Paid(0, 1, 30, Reason.RENT), language)
    missing = {f"line {key}" for key in sentences.LINES} | {f"phrase {key}" for key in sentences.PHRASES}
    assert missing - used == set()


def test_names_stand_in_the_form_that_a_sentence_needs() -> None:
    s = _state()
    told = {
        event.__class__.__name__: record.line(s, event, "ru").text  # type: ignore[union-attr]
        for event in (E.Paid(0, 1, 30, Reason.RENT), E.LotMoved(24, -1, "estate"), E.DebtPassed(1, BANK))
    }
    assert told == {
        "Paid": "Анна платит игроку ben $30 — аренда.",
        "LotMoved": "«Париж (Франция)» переходит от игрока ben к банку.",
        "DebtPassed": "Долг игрока Анна перед игроком ben переходит к банку.",
    }


def test_a_sentence_begins_with_a_capital_letter_but_a_name_stays_as_it_is() -> None:
    s = _state()
    texts = [record.line(s, event) for event in (E.Paid(BANK, 1, 5, Reason.CARD), E.CameBack(1), E.HostChanged(""))]
    assert [line.text for line in texts if line] == [
        *("The bank pays ben $5 by the card.", "ben is back.", "Nobody is the host now."),
    ]


def test_numbers_choose_their_word() -> None:
    s = _state()
    options = [Options(round_limit=rounds, time_limit_min=22) for rounds in (1, 3, 5, 11, 21)]
    told = [Teller(s, "ru").options(each).split(", ", 2)[2] for each in options]
    assert told == [
        *("1 раунд, 22 минуты", "3 раунда, 22 минуты", "5 раундов, 22 минуты", "11 раундов, 22 минуты"),
        "21 раунд, 22 минуты",
    ]
    assert Teller(s, "ru").side(Side(cards=("x",))) == "карту освобождения"
    assert Teller(s, "ru").side(Side(5, (21,))) == "$5 и «Марсель (Франция)» (в залоге)"
    assert [Teller(s, language).seconds(1500) for language in ("en", "ru")] == ["1.5", "1,5"]


def test_an_edition_without_that_language_is_told_in_its_own() -> None:
    s = _state("laspoly")
    told = record.line(s, E.CameBack(1), "ru")
    assert told is not None
    assert told.text == "ben is back."


@LANGUAGES
def test_choices_are_listed_in_every_language(language: str) -> None:
    log = played("globopoly/quick")
    s = engine.blank(log.game.first)
    for commit in log.commits:
        engine.enter(s, commit.at_ms, commit.actor)
        for event in commit.events:
            event.apply(s)
        for seat in range(s.seats if s.prompt else 0):
            listed = listing.legal_actions(s, seat, s.now_ms)
            own, said = (choosing.choices(s, seat, listed, each) for each in ("", language))
            assert [choice.action for choice in own] == [choice.action for choice in said]
            assert all(choice.label and "{" not in choice.label for choice in said)


# --- what may be wrong with a file ------------------------------------------------------------------------------------

KEYS = Keys({"greet": ("who", "amount?")}, {"part": ()}, ("rounds",), frozenset(("who",)))
RIGHT = """
[party]
who = { player = "{name}", bank = "the bank", casino = "the casino" }
[count]
rounds = ["a round", "{n} rounds"]
[phrase]
part = "part"
[line]
greet = "{who} is greeted."
"""


def test_a_file_that_is_right() -> None:
    words = Wording("en", RIGHT, KEYS)
    assert words.line("greet", who=words.party("bank"), amount=3) == "The bank is greeted."
    assert (words.count("rounds", 1), words.count("rounds", 2)) == ("a round", "2 rounds")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('part = "part"', "", "phrase: part is missing"),
        ('part = "part"', 'part = "part"\nmore = "more"', "phrase: there is no more"),
        ("{who} is", "{person} is", "line.greet: it names {person}, which it is not given"),
        ("{who} is", "Somebody is", "line.greet: it does not name {who}"),
        ("{who} is", "{who.whom} is", "line.greet: {who.whom}: there is no such form"),
        ("{who} is", "{who!r} is", "line.greet: {who} has a format"),
        ("{who} is", "{who:>9} is", "line.greet: {who} has a format"),
        ("{who} is", "{who is", "line.greet: it cannot be filled in: expected '}' before end of string"),
        ("greeted", "greeted 2 times", "line.greet: it holds a digit"),
        ('"a round", ', "", "count.rounds: 1 forms; write one, other"),
        ("{n} rounds", "{m} rounds", "count.rounds: it names {m}, which it is not given"),
        ('"{name}"', '"somebody"', "party.who.player: it does not name {name}"),
        (', casino = "the casino"', "", "party.who: casino is missing"),
        ("who = {", "whom = {", "party: there is no form who"),
        ("[line]", "[lines]", "unknown table lines"),
    ],
)
def test_a_file_that_is_wrong(right: str, wrong: str, said: str) -> None:
    assert right in RIGHT
    with pytest.raises(WordingError) as caught:
        Wording("en", RIGHT.replace(right, wrong), KEYS)
    assert said in str(caught.value).splitlines()
