"""A log is checked from itself alone, and every forgery is found."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from omnipoly.client import verify
from omnipoly.editions import loader
from omnipoly.rules import events
from omnipoly.rules.events import Event
from omnipoly.rules.ring import Game
from omnipoly.wire.commits import Commit
from tests.client.games import Log, played

Forge = Callable[[Event], Event | None]


@pytest.mark.parametrize("edition", loader.shipped())
def test_a_true_log_holds(edition: str) -> None:
    log = played(edition)
    verdict = verify.check(log.game, log.commits)
    assert verdict.holds, verdict.problems
    happened = [event for commit in log.commits for event in commit.events]
    assert verdict.throws == sum(isinstance(event, events.DiceThrown) for event in happened)
    assert verdict.draws >= sum(isinstance(event, events.CardDrawn) for event in happened)
    assert verdict.commits == len(log.commits)
    assert verdict.state == log.state


def test_a_big_table_deals_lots_that_are_checked() -> None:
    log = played("tubbypoly", seats=16, rounds=2)
    dealt = [e for c in log.commits for e in c.events if isinstance(e, events.LotMoved) and e.how == "dealt"]
    assert dealt
    verdict = verify.check(log.game, log.commits)
    assert verdict.holds, verdict.problems
    assert verdict.draws >= len(dealt)


def forged(log: Log, kind: type[Event], change: Forge, *, which: int = 0) -> list[Commit]:
    """The log with the n-th event of a kind changed, or left out where ``change`` gives None."""
    seen = -1
    commits = []
    for commit in log.commits:
        happened: list[Event] = []
        for event in commit.events:
            if isinstance(event, kind):
                seen += 1
                if seen == which:
                    changed = change(event)
                    happened += [] if changed is None else [changed]
                    continue
            happened.append(event)
        commits.append(msgspec.structs.replace(commit, events=tuple(happened)))
    assert seen >= which
    return commits


def _replace(**changes: object) -> Forge:
    return lambda event: msgspec.structs.replace(event, **changes)


def test_another_throw_is_found() -> None:
    log = played("tubbypoly")
    turned = forged(log, events.DiceThrown, lambda e: msgspec.structs.replace(e, dice=(7 - e.dice[0], e.dice[1])))
    verdict = verify.check(log.game, turned)
    assert not verdict.holds
    assert "the seed gives" in verdict.problems[0].sentence
    assert verdict.problems[0].version


def test_another_face_of_the_speed_die_is_found() -> None:
    log = played("globopoly/quick")
    walks = [e for c in log.commits for e in c.events if isinstance(e, events.DiceThrown)]
    which = next(number for number, event in enumerate(walks) if event.speed)
    face = "1" if walks[which].speed != "1" else "2"
    verdict = verify.check(log.game, forged(log, events.DiceThrown, _replace(speed=face), which=which))
    assert any("the seed gives" in problem.sentence for problem in verdict.problems)


def test_another_card_is_found() -> None:
    log = played("tubbypoly")
    drawn = next(e for c in log.commits for e in c.events if isinstance(e, events.CardDrawn))
    deck = log.game.edition.decks[drawn.deck]
    other = next(card.id for card in deck if card.id != drawn.card and not card.jail_free)
    verdict = verify.check(log.game, forged(log, events.CardDrawn, _replace(card=other)))
    assert any("draw 1 from" in problem.sentence for problem in verdict.problems)


def test_another_order_of_play_is_found() -> None:
    for edition in ("tubbypoly", "laspoly"):
        log = played(edition)
        changed = forged(log, events.OrderDecided, lambda e: events.OrderDecided(tuple(reversed(e.order))))
        assert not verify.check(log.game, changed).holds


def test_other_places_are_found() -> None:
    log = played("rugpull")
    verdict = verify.check(log.game, forged(log, events.GameEnded, _replace(places=(1, 1, 1, 1))))
    assert any("places" in problem.sentence for problem in verdict.problems)


def test_other_money_is_found() -> None:
    log = played("tubbypoly")
    changed = forged(log, events.Paid, lambda e: events.Paid(e.payer, e.payee, -e.amount, e.reason))
    verdict = verify.check(log.game, changed)
    assert any("invariants" in problem.sentence for problem in verdict.problems)


def test_another_seed_is_found() -> None:
    log = played("laspoly")
    verdict = verify.check(log.game, forged(log, events.SeedRevealed, _replace(seed="00" * 32)))
    assert [problem.sentence for problem in verdict.problems] == [
        "the revealed seed is not the one that was committed to"
    ]
    assert not verify.check(log.game, forged(log, events.SeedRevealed, _replace(seed="no hex"))).holds


def test_a_game_that_goes_on_cannot_be_checked() -> None:
    log = played("laspoly")
    verdict = verify.check(log.game, forged(log, events.SeedRevealed, lambda e: None))
    assert "not revealed" in verdict.problems[0].sentence


def test_a_missing_commit_is_found() -> None:
    log = played("laspoly")
    verdict = verify.check(log.game, [*log.commits[:5], *log.commits[6:]])
    assert verdict.problems[-1].sentence == "commit 6 is missing"


def test_an_empty_log_is_none() -> None:
    game = played("laspoly").game
    assert "does not begin" in verify.check(game, []).problems[0].sentence


def test_another_edition_is_found() -> None:
    log = played("laspoly")
    verdict = verify.check(Game(loader.edition("rugpull")), log.commits)
    assert "digest" in verdict.problems[0].sentence


def test_scripted_dice_cannot_be_checked() -> None:
    log = played("laspoly")
    verdict = verify.check(log.game, forged(log, events.TableOpened, _replace(dev=True)))
    assert "--dev" in verdict.problems[0].sentence


def test_a_log_that_is_wrong_throughout_is_cut_short() -> None:
    log = played("tubbypoly", rounds=20)
    commits = [
        msgspec.structs.replace(
            commit,
            events=tuple(
                msgspec.structs.replace(event, dice=(event.dice[1], 7 - event.dice[0]))
                if isinstance(event, events.DiceThrown)
                else event
                for event in commit.events
            ),
        )
        for commit in log.commits
    ]
    verdict = verify.check(log.game, commits)
    assert len(verdict.problems) <= verify.MOST_PROBLEMS
