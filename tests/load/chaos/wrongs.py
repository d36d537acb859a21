"""What is made wrong of a run on purpose, and under which word the checker has to tell of it; of money and lots:
`wrong_games`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

from omnipoly.wire.gen.game.v1 import events_pb2, platform_pb2, types_pb2

from .planting import Planted, message

PRIZE = platform_pb2.CREDIT_REASON_PRIZE


def dropped(run: Planted) -> None:
    """A commit that clients were told of is gone."""
    run.drop(run.acknowledged())


def dropped_and_closed_up(run: Planted) -> None:
    """Likewise, and nothing is to be seen of the gap."""
    row = run.acknowledged()
    run.drop(row)
    run.renumber(row["table_id"])


def lost_at_the_end(run: Planted) -> None:
    """The last commit that was acknowledged, as a standby without it would have it."""
    row = run.acknowledged()
    for later in [one for one in run.commits(row["table_id"]) if one["version"] >= row["version"]]:
        run.drop(later)
    run.head(row["table_id"])["version"] = row["version"] - 1


def doubled(run: Planted) -> None:
    """A command has taken effect twice."""
    row = run.acknowledged()
    run.insert(copy.deepcopy(row), row)
    run.renumber(row["table_id"])


def doubled_under_another_name(run: Planted) -> None:
    """Its effect, a decision opened under a number, stands there twice, the second time as another command."""
    row, _ = run.find("asked", lambda row, event: bool(row["command_id"]) and row["version"] > 10)
    again = copy.deepcopy(row)
    again["command_id"] += "-b"
    run.change(again, lambda commit: setattr(commit, "command_id", again["command_id"]))
    run.insert(again, row)
    run.renumber(row["table_id"])


def reordered(run: Planted) -> None:
    """Two commits have changed places."""
    row, _ = run.find("moved", lambda row, event: row["version"] > 10)
    table = row["table_id"]
    before = run.commits(table)[row["version"] - 2]
    run.drop(before)
    run.insert(before, row)
    run.renumber(table)


def of_another_row(run: Planted) -> None:
    """What a row says of a commit and what is in it differ."""
    run.acknowledged()["actor"] = "guest:somebody-else"


def never_answered_so(run: Planted) -> None:
    """Somebody was told another version."""
    _, line = next(run.lines("accepted"))
    line["version"] += 1


def refused_and_done(run: Planted) -> None:
    """Somebody was told no, and it was done."""
    told = {(line["table"], line["id"]) for _, line in run.lines("refused", "lost")}
    tries = [(line["table"], line["id"]) for _, line in run.lines("try")]
    for _, line in run.lines("accepted"):
        key = (line["table"], line["id"])
        if tries.count(key) == 1 and key not in told:
            line.update(k="refused", code="not_your_turn", status=9)
            return


def refused_after_it_was_done(run: Planted) -> None:
    """Nobody heard that it was done; it was tried again, and refused as if it were new."""
    row, lines, line = _accepted_at_once(run)
    lines[lines.index(line)] = {**line, "k": "lost", "n": 1, "how": "the stream has ended"}
    _refuse_again(row, lines, line)


def refused_after_it_was_accepted(run: Planted) -> None:
    """The same, where the first answer came through."""
    _refuse_again(*_accepted_at_once(run))


def _accepted_at_once(run: Planted) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """A commit whose command was sent once and accepted, that answer, and the journal it stands in."""
    said = Counter((line["table"], line["id"]) for _, line in run.lines("try", "lost", "accepted", "refused"))
    rows = {(row["table_id"], row["command_id"]): row for row in run.commits()}
    for lines, line in run.lines("accepted"):
        key = line["table"], line["id"]
        if said[key] == 2 and key in rows:
            return rows[key], lines, line
    raise LookupError("nobody was told at once that a command is done")


def _refuse_again(row: dict[str, Any], lines: list[dict[str, Any]], line: dict[str, Any]) -> None:
    at = max(row["stored_at"], line["t"]) + 2_000
    told = {"id": line["id"], "table": line["table"], "way": "call", "n": 2}
    lines.append({**told, "t": at, "k": "try", "act": "roll", "wait_ms": 10_000})
    lines.append({**told, "t": at + 5, "k": "refused", "code": "wrong_phase", "status": 9})


def answered_before_it_was_stored(run: Planted) -> None:
    run.acknowledged()["stored_at"] += 60_000


def started_after_its_time(run: Planted) -> None:
    """A command was played long after its caller had given up."""
    row = run.acknowledged()
    for lines, line in run.lines("accepted"):
        if (line["table"], line["id"]) == (row["table_id"], row["command_id"]):
            lines.remove(line)
    for later in run.commits(row["table_id"]):
        if later["version"] >= row["version"]:
            later["stored_at"] += 60_000


def an_old_picture(run: Planted) -> None:
    """A picture was older than what had been acknowledged before it was asked for."""
    row = run.acknowledged()
    lines = next(iter(run.journals.values()))
    lines.append(_look(run, row, version=row["version"] - 3))


def a_picture_of_other_money(run: Planted) -> None:
    _picture(run)["cash"][0] += 1


def a_picture_of_another_owner(run: Planted) -> None:
    line = _picture(run)
    line["owner"]["39"] = 1 - line["owner"].get("39", 0)


def _picture(run: Planted) -> Any:
    """A picture that somebody was shown, or asked for, of a game that had begun."""
    for _, line in run.lines("picture", "look"):
        if line["cash"]:
            return line
    raise LookupError("nobody was shown a game that had begun")


def shown_and_not_logged(run: Planted) -> None:
    """Somebody was shown what is not in the log."""
    _, line = next(run.lines("commit"))
    line["sha"] = "0" * 24


def shown_twice(run: Planted) -> None:
    lines, line = next(run.lines("commit"))
    lines.insert(lines.index(line), dict(line))


def never_shown(run: Planted) -> None:
    lines, line = next((lines, line) for lines, line in run.lines("commit") if _shows_more(lines, line))
    lines.remove(line)


def two_histories(run: Planted) -> None:
    """Somebody was shown an older epoch after a newer one."""
    line = next(line for lines, line in run.lines("commit") if _shows_more(lines, line))
    line["epoch"] += 1


def other_dice(run: Planted) -> None:
    """A throw that the seed does not make."""
    row, at = run.find("dice_thrown")

    def turn(commit: Any) -> None:
        commit.events[at].dice_thrown.dice[0] = commit.events[at].dice_thrown.dice[0] % 6 + 1

    run.change(row, turn)


def timed_out_too_soon(run: Planted) -> None:
    """Somebody is timed out by the next commit after they were asked."""
    row, at = run.find("asked", lambda row, event: any(prompt.HasField("deadline") for prompt in event.opened))
    seat = next(prompt.seat for prompt in message(row).events[at].asked.opened if prompt.HasField("deadline"))
    later = run.commits(row["table_id"])[row["version"]]

    def away(commit: Any) -> None:
        commit.events.add().went_away.CopyFrom(_went_away(seat, types_pb2.AWAY_MISSED))

    run.change(later, away)


def taken_for_gone(run: Planted) -> None:
    """Somebody is taken for gone while their stream stands."""
    run.undone("stop presence")  # else news of a stream may have come late
    who = {name: next(line["who"] for line in lines if line["k"] == "person") for name, lines in run.journals.items()}
    stood = []
    for name, lines in run.journals.items():
        for line in lines:
            if line["k"] == "stream":
                line["on"] = "a gateway to which nothing was done"
        for line in lines:
            if line["k"] != "closed":
                continue
            shown = (one for one in lines if one["k"] in {"picture", "commit"} and one["s"] == line["s"])
            begun = next(shown, None)
            if begun is None:
                continue
            rows = [row for row in run.commits(begun["table"]) if row["stored_at"] < line["t"] - 100]
            if rows and (seat := _seat_of(run, rows[-1], who[name])) >= 0:
                stood.append((rows[-1]["stored_at"] - begun["t"], seat, rows[-1]))
    for_ms, seat, row = max(stood, key=lambda one: one[0])
    if for_ms < 2_500:
        raise LookupError(f"no stream has stood for long enough, the longest for {for_ms} ms")
    gone = _went_away(seat, types_pb2.AWAY_BROKEN)
    run.change(row, lambda commit: commit.events.add().went_away.CopyFrom(gone))


def not_ended(run: Planted) -> None:
    """A game that never came to its end."""
    row, _ = run.find("game_ended")
    for later in [one for one in run.commits(row["table_id"]) if one["version"] >= row["version"]]:
        run.drop(later)
    run.head(row["table_id"])["version"] = row["version"] - 1


def ended_only_by_a_vote(run: Planted) -> None:
    """A game in which nobody has moved since nothing was broken any more."""
    ended, _ = run.find("game_ended", lambda row, event: event.why in {types_pb2.ENDING_VOTE, types_pb2.ENDING_ALONE})
    for row in run.commits(ended["table_id"]):
        moves = {event.WhichOneof("kind") for event in message(row).events}
        if row["version"] < ended["version"] and not moves & {"vote_opened", "voted"}:
            row["stored_at"] = min(row["stored_at"], run.calm_ms - 1)


def out_of_play(run: Planted) -> None:
    run.rows.append({"row": "quarantined", "table_id": run.acknowledged()["table_id"], "reason": "it is broken"})


def a_fault_of_ours(run: Planted) -> None:
    """Somebody was answered INTERNAL."""
    lines, line = next(run.lines("try"))
    lines.append({**line, "k": "refused", "code": "internal", "status": 13})


def credits_from_nowhere(run: Planted) -> None:
    """A wallet has more than anybody gave."""
    entry = run.ledger("entries", account="wallet:")[-1]
    entry["amount"] += 1
    entry["balance"] += 1
    run.ledger("accounts", account=entry["account"])[0]["balance"] += 1


def credits_granted_twice(run: Planted) -> None:
    """The same call has been carried out twice."""
    given = run.ledger("transactions", request_id="grant-")[0]
    again = max(row["number"] for row in run.ledger("transactions")) + 1
    run.rows.append({**given, "number": again})
    for entry in [row for row in run.ledger("entries") if row["transaction"] == given["number"]]:
        last = run.ledger("entries", account=entry["account"])[-1]
        balance = last["balance"] + entry["amount"]
        run.insert({**entry, "transaction": again, "number": last["number"] + 1, "balance": balance}, last)
        run.ledger("accounts", account=entry["account"])[0]["balance"] = balance


def a_grant_that_is_gone(run: Planted) -> None:
    """It was acknowledged, and nothing is left of it."""
    given = run.ledger("transactions", request_id="grant-")[-1]
    run.forget(given["number"])


def a_fee_that_is_gone(run: Planted) -> None:
    """A game has started, and nobody has paid for it."""
    run.forget(run.ledger("entries", account="held:")[0]["transaction"])


def a_balance_of_another_sum(run: Planted) -> None:
    run.ledger("accounts", account="wallet:")[0]["balance"] -= 1


def a_wallet_below_nothing(run: Planted) -> None:
    """All of it has gone to the house, and more."""
    wallet = run.ledger("accounts", account="wallet:")[0]
    lost = wallet["balance"] + 1
    for account, amount in ((wallet["account"], -lost), ("house", lost)):
        last = run.ledger("entries", account=account)[-1]
        run.insert({**last, "number": last["number"] + 1, "amount": amount, "balance": last["balance"] + amount}, last)
        run.ledger("accounts", account=account)[0]["balance"] += amount


def a_prize_to_somebody_else(run: Planted) -> None:
    """It stays in the family, and is in another wallet."""
    prize = next(row for row in run.ledger("entries", account="wallet:") if row["reason"] == PRIZE)
    prize["account"] = "wallet:oidc:somebody-else"
    prize["balance"] = prize["amount"]
    run.settle()


def credits_that_a_game_has_kept(run: Planted) -> None:
    """It is over, and nobody has got the pool."""
    prize = next(row for row in run.ledger("entries", account="held:") if row["amount"] < 0)
    run.forget(prize["transaction"])


def a_prize_paid_twice(run: Planted) -> None:
    """Two prizes from the house, each of them adds up."""
    prize = next(row for row in run.ledger("entries", account="wallet:") if row["reason"] == PRIZE)
    for account, amount in ((prize["account"], prize["amount"]), ("house", -prize["amount"])):
        last = run.ledger("entries", account=account)[-1]
        run.insert({**last, **prize, "account": account, "amount": amount, "number": last["number"] + 1}, last)
    run.settle()


def _look(run: Planted, row: dict[str, Any], *, version: int) -> dict[str, Any]:
    at = row["stored_at"] + 30_000
    empty = {"cash": [], "owner": {}, "casino": 0, "bank": 0}
    return {"t": at, "k": "look", "table": row["table_id"], "version": version, "epoch": 1, "began": at, **empty}


def _shows_more(lines: list[dict[str, Any]], line: dict[str, Any]) -> bool:
    """Whether the same stream shows the next commit, too."""
    return any(
        one["k"] == "commit" and one["s"] == line["s"] and one["version"] == line["version"] + 1 for one in lines
    )


def _went_away(seat: int, why: Any) -> Any:
    return events_pb2.WentAway(seat=seat, why=why)


def _seat_of(run: Planted, row: dict[str, Any], who: str) -> int:
    """Where somebody sits before a commit; -1: nowhere."""
    holders: dict[int, str] = {}
    for one in run.commits(row["table_id"])[: row["version"] - 1]:
        for event in message(one).events:
            if event.WhichOneof("kind") == "seat_taken":
                holders[event.seat_taken.seat] = event.seat_taken.holder
    return next((seat for seat, holder in holders.items() if holder == who), -1)


PLANTED: dict[Callable[[Planted], None], str] = {
    dropped: "gap",
    dropped_and_closed_up: "missing",
    lost_at_the_end: "missing",
    doubled: "doubled",
    doubled_under_another_name: "numbers",
    reordered: "order",
    of_another_row: "columns",
    never_answered_so: "missing",
    refused_and_done: "answers",
    refused_after_it_was_done: "refused",
    refused_after_it_was_accepted: "refused",
    answered_before_it_was_stored: "order",
    started_after_its_time: "late",
    an_old_picture: "order",
    a_picture_of_other_money: "unlogged",
    a_picture_of_another_owner: "unlogged",
    shown_and_not_logged: "unlogged",
    shown_twice: "doubled",
    never_shown: "gap",
    two_histories: "history",
    other_dice: "chance",
    timed_out_too_soon: "timed out",
    taken_for_gone: "gone",
    not_ended: "end",
    ended_only_by_a_vote: "end",
    out_of_play: "quarantined",
    a_fault_of_ours: "internal",
    credits_from_nowhere: "ledger",
    credits_granted_twice: "doubled",
    a_grant_that_is_gone: "missing",
    a_fee_that_is_gone: "ledger",
    a_prize_to_somebody_else: "ledger",
    a_prize_paid_twice: "ledger",
    a_balance_of_another_sum: "ledger",
    a_wallet_below_nothing: "ledger",
    credits_that_a_game_has_kept: "ledger",
}
