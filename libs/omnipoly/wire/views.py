"""States as pictures: what a client that has seen nothing gets, what the table service keeps as a snapshot, and back.

A picture shows by seat, by field and by deck what the state keeps in columns. The counters that the state keeps beside
them (lots, held, built, pledged, factories) are not in it: they are counted again. Everything else is, so that
``from_view(to_view(state, ...), game)`` is the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from omnipoly.rules.state import FACTORY, FREE, NOBODY, State
from omnipoly.wire.derive import Deriver, Part, Unmapped, field_of, hints_of
from omnipoly.wire.gen.game.v1 import view_pb2
from omnipoly.wire.malformed import Malformed, nothing_newer

if TYPE_CHECKING:
    from omnipoly.rules.ring import Game, Rules

SEATED = ("holder", "name", "bot", "stands_in_for", "connected", "away", "out")
"""By seat, from the lobby on."""
PLAYING = (
    *("out_rank", "cash", "position", "jailed", "laps", "cards", "prompt", "asked", "deadline_ms"),
    *("offers_made", "throws"),
)
"""By seat, once the game has started; empty before."""
FIELDS = ("owner", "level", "mortgaged")
DECKS = ("unseen", "returned", "draws")
AUCTION = ("lot", "forced_by", "bids", "passed", "bidder", "auction_deadline_ms")
COUNTED = ("factories", "lots", "held", "built", "pledged")
"""What is counted again."""
OWN = ("version", "epoch", "edition", "digest", "board", "in_play", "seats", "fields", "decks", "auction")
"""What the picture has besides the state's attributes."""

NO_AUCTION = (-1, NOBODY, (), 0, NOBODY, 0)
"""The attributes of ``AUCTION`` while none runs."""


class Picture(NamedTuple):
    """A state with what the log says of it."""

    state: State
    version: int
    epoch: int


# --- the derived part -------------------------------------------------------------------------------------------------

_derive = Deriver()
_HINTS = hints_of(State)
_VIEW = view_pb2.TableView.DESCRIPTOR
_GROUPED = {"rules", *SEATED, *PLAYING, *FIELDS, *DECKS, *AUCTION, *COUNTED}
_PLAIN = tuple(attribute for attribute in State.__struct_fields__ if attribute not in _GROUPED)


def _columns(message: Descriptor, attributes: tuple[str, ...]) -> dict[str, Part]:
    """How columns travel in the rows of a message."""
    parts = {}
    for attribute in attributes:
        (item,) = _HINTS[attribute].__args__
        where = ("State", attribute)
        field, unit = field_of(where, message)
        parts[attribute] = _derive.part(where, item, field, unit)
    return parts


def _complete(message: Descriptor, *groups: dict[str, Part], own: tuple[str, ...] = ()) -> None:
    taken = {field for parts in groups for part in parts.values() for field in part.fields}
    if unused := set(message.fields_by_name) - taken - set(own):
        raise Unmapped(f"{message.full_name} has {sorted(unused)}, which the state has not")


def _rows(parts: dict[str, Part], rows: str) -> list[str]:
    """Statements that fill the messages of ``rows`` from the columns of a state ``s``."""
    columns = "".join(f", s.{attribute}" for attribute in parts)
    puts = [part.put.format(v=f"v_{attribute}", p="p") for attribute, part in parts.items()]
    body = "\n".join(puts).replace("\n", "\n    ")
    return [
        f"for p{''.join(f', v_{attribute}' for attribute in parts)} in zip({rows}{columns}, strict=True):\n    {body}"
    ]


def _read_columns(parts: dict[str, Part], rows: str) -> list[str]:
    """Items of a dict that has the columns of the messages of ``rows``."""
    return [f"{attribute!r}: [{part.get.format(p='p')} for p in {rows}]," for attribute, part in parts.items()]


_seated, _playing = _columns(view_pb2.SeatView.DESCRIPTOR, SEATED), _columns(view_pb2.SeatView.DESCRIPTOR, PLAYING)
_fields, _decks = _columns(view_pb2.FieldView.DESCRIPTOR, FIELDS), _columns(view_pb2.DeckView.DESCRIPTOR, DECKS)
_auction = _derive.parts(State, view_pb2.AuctionView.DESCRIPTOR, AUCTION)
_plain = _derive.parts(State, _VIEW, _PLAIN)
_complete(view_pb2.SeatView.DESCRIPTOR, _seated, _playing)
_complete(view_pb2.FieldView.DESCRIPTOR, _fields)
_complete(view_pb2.DeckView.DESCRIPTOR, _decks, own=("deck",))
_complete(view_pb2.AuctionView.DESCRIPTOR, _auction)
_complete(_VIEW, _plain, own=OWN)

_write_plain = _derive.function(
    "s, p", [part.put.format(v=f"s.{attribute}", p="p") for attribute, part in _plain.items()], "State to TableView"
)
_write_auction = _derive.function(
    "s, p", [part.put.format(v=f"s.{attribute}", p="p") for attribute, part in _auction.items()], "State to AuctionView"
)
_write_seats = _derive.function("s, rows", _rows(_seated, "rows"), "State to SeatView")
_write_game = _derive.function(
    "s, seats, fields, decks",
    _rows(_playing, "seats") + _rows(_fields, "fields") + _rows(_decks, "decks"),
    "State to SeatView, FieldView and DeckView",
)
_read_all = _derive.function(
    "p, seats, playing, fields, decks, auction",
    [
        "plain = {",
        *(f"{attribute!r}: {part.get.format(p='p')}," for attribute, part in _plain.items()),
        *(f"{attribute!r}: {part.get.format(p='auction')}," for attribute, part in _auction.items()),
        "}",
        "return plain | {",
        *_read_columns(_seated, "seats"),
        *_read_columns(_playing, "playing"),
        *_read_columns(_fields, "fields"),
        *_read_columns(_decks, "decks"),
        "}",
    ],
    "TableView to State",
)


# --- to a picture -----------------------------------------------------------------------------------------------------


def to_view(state: State, version: int, epoch: int) -> view_pb2.TableView:
    """The picture of a state. Raises ``ValueError`` for a state that cannot be, or a number its field cannot hold."""
    view = view_pb2.TableView()
    fill(state, view, version=version, epoch=epoch)
    return view


def fill(state: State, view: view_pb2.TableView, *, version: int, epoch: int) -> None:
    """Fill an empty message from a state: for those who have it inside another. Raises as ``to_view`` does."""
    rules = state.rules
    view.version, view.epoch = version, epoch
    view.edition, view.digest, view.board = rules.edition.id, rules.edition.digest, rules.board.id
    _write_plain(state, view)
    seats = [view.seats.add() for _ in state.holder]
    _write_seats(state, seats)
    if tuple(getattr(state, attribute) for attribute in AUCTION) != NO_AUCTION:
        _write_auction(state, view.auction)
    if not state.cash:
        return
    view.in_play = True
    fields = [view.fields.add() for _ in state.owner]
    decks = [view.decks.add(deck=name) for name in rules.deck_names]
    _write_game(state, seats, fields, decks)


def encode(state: State, version: int, epoch: int) -> bytes:
    """The bytes of a state's picture. Raises as ``to_view`` does."""
    return to_view(state, version, epoch).SerializeToString()


# --- and back ---------------------------------------------------------------------------------------------------------


def from_view(view: view_pb2.TableView, game: Game) -> State:
    """The state of a picture, in the edition that its digest names.

    Raises ``Malformed``: for another edition, and for seats, fields, cards and numbers that the edition's ring does not
    have. Whether the rules can reach the position is for the rules to say.
    """
    if view.digest and view.digest != game.edition.digest:
        raise Malformed("a picture of another edition")
    rules = game.rings.get(view.board)
    if rules is None:
        raise Malformed("a picture of a ring that this edition does not have")
    playing = view.seats if view.in_play else ()
    if (len(view.fields), len(view.decks)) != ((rules.fields_n, len(rules.decks)) if view.in_play else (0, 0)):
        raise Malformed("a picture with other fields or decks than the ring has")
    if view.HasField("auction"):
        auction = view.auction
    else:
        auction = view_pb2.AuctionView(lot=-1, forced_by=NOBODY, bidder=NOBODY)
    try:
        columns = _read_all(view, view.seats, playing, view.fields, view.decks, auction)
    except KeyError as error:
        raise Malformed(f"a picture with a value that is not known here: {error}") from error
    state: State = State(rules=rules, factories=[], lots=[], held=[], built=[], pledged=[], **columns)
    _check(state, view)
    if view.in_play:
        _count(state, rules)
    return state


def decode(data: bytes, game: Game) -> Picture:
    """The state, version and epoch of a picture's bytes.

    Raises ``Malformed`` as ``from_view`` does; ``Newer`` for one with fields that are not known here.
    """
    try:
        view = view_pb2.TableView.FromString(data)
    except DecodeError as error:
        raise Malformed("these bytes are no picture of a table") from error
    nothing_newer(view)
    return Picture(from_view(view, game), view.version, view.epoch)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Malformed(f"a picture with {what} that cannot be")


def _check(s: State, view: Any) -> None:
    """Everything that is used as an index is one."""
    rules, n = s.rules, len(s.holder)
    seats, parties, fields = range(n), range(NOBODY, n), range(rules.fields_n)
    _require(n <= rules.game.most_seats and (n > 0 or not view.in_play), "so many seats")
    _require(bool(s.phases), "no phase")
    for party in (s.turn, s.forced_by, s.bidder, s.liquidated, *s.owner):
        _require(party in parties, f"the seat {party}")
    named = [*s.order, *(bid.seat for bid in s.bids)]
    named += [seat for debt in s.debts for seat in (debt.debtor, max(debt.creditor, 0))]
    named += [seat for claim in s.claims for seat in (claim.claimant, claim.payer)]
    named += [seat for offer in s.offers for seat in (offer.proposer, offer.receiver)]
    named += [seat for wait in s.waits for seat in (wait.proposer, wait.receiver)]
    for seat in named:
        _require(seat in seats, f"the seat {seat}")
    _require(s.passed >> n == 0, "seats out of the auction")
    _require(all(debt.creditor >= -2 for debt in s.debts), "a creditor")
    _require(len(set(s.order)) == len(s.order), "an order of play")
    _require(len(s.places) in (0, n), "places")
    at = [*s.position, *(claim.field for claim in s.claims)]
    at += [field for offer in s.offers for field in (*offer.give.fields, *offer.take.fields, *offer.mortgaged)]
    for field in at if s.lot == -1 else (*at, s.lot):
        _require(field in fields, f"the field {field}")
    _require(all(field in rules.lots for field, owner in enumerate(s.owner) if owner != NOBODY), "an owned field")
    _require(all(0 <= level <= FACTORY for level in s.level), "a building")
    _require(all(tries >= FREE for tries in s.jailed), "somebody in jail")
    _require(all(card in rules.jail_free for hand in s.cards for card in hand), "a card in hand")
    for number, deck in enumerate(view.decks):
        _require(deck.deck == rules.deck_names[number], f"the deck {deck.deck}")
        known = rules.cards[number]
        _require(all(card in known for card in (*s.unseen[number], *s.returned[number])), "a card in a deck")


def _count(s: State, rules: Rules) -> None:
    """Count what the state keeps beside its columns."""
    n, sets = len(s.holder), rules.sets_n
    s.lots, s.factories = [0] * n, [0] * n
    s.held, s.built, s.pledged = [0] * (n * sets), [0] * (n * sets), [0] * (n * sets)
    for field, owner in enumerate(s.owner):
        if owner == NOBODY:
            continue
        row = owner * sets + rules.set_of[field]
        s.lots[owner] += 1
        s.held[row] += 1
        s.built[row] += s.level[field] > 0
        s.pledged[row] += s.mortgaged[field]
        s.factories[owner] += s.level[field] == FACTORY
