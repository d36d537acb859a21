"""Reason codes for refusals: stable, public, one enum for the rules and the platform.

Scenarios and texts use the lower case values; gRPC errors carry them in upper case (``ErrorInfo.reason``).
"""

from __future__ import annotations

import enum

import msgspec


class Code(enum.StrEnum):
    """Why something was refused. The order is that of precedence: of several that apply, the earlier class is given."""

    # who and where
    NOT_SEATED = "not_seated"
    OUT_OF_GAME = "out_of_game"
    TABLE_CLOSED = "table_closed"
    GAME_OVER = "game_over"
    PAUSED = "paused"
    TABLE_FULL = "table_full"
    TABLE_STARTED = "table_started"
    WRONG_PIN = "wrong_pin"
    NOT_HOST = "not_host"
    NOT_ADMIN = "not_admin"
    BAD_OPTION = "bad_option"
    BAD_PARTNER = "bad_partner"
    NOT_AWAY = "not_away"
    NOT_A_BOT = "not_a_bot"
    KEY_REUSED = "key_reused"
    STALE_PROMPT = "stale_prompt"
    # when
    WRONG_PHASE = "wrong_phase"
    NOT_YOUR_TURN = "not_your_turn"
    TOO_EARLY = "too_early"
    AUCTION_CLOSED = "auction_closed"
    ALREADY_PASSED = "already_passed"
    ALREADY_HIGH_BIDDER = "already_high_bidder"
    VOTE_OPEN = "vote_open"
    VOTE_COOLDOWN = "vote_cooldown"
    NO_VOTE = "no_vote"
    OFFER_GONE = "offer_gone"
    OFFER_OPEN = "offer_open"
    OFFER_COOLDOWN = "offer_cooldown"
    OFFER_UNANSWERED = "offer_unanswered"
    OFFER_QUOTA = "offer_quota"
    NOTHING_TO_CLAIM = "nothing_to_claim"
    NOT_IN_JAIL = "not_in_jail"
    NO_CARD = "no_card"
    # owing
    IN_DEBT = "in_debt"
    DEBTS_OPEN = "debts_open"
    NO_DEBT = "no_debt"
    # which lot
    UNKNOWN_FIELD = "unknown_field"
    NOT_A_LOT = "not_a_lot"
    NOT_A_STREET = "not_a_street"
    ALREADY_OWNED = "already_owned"
    NOT_OWNER = "not_owner"
    ASSET_CHANGED = "asset_changed"
    # the state of the lot
    SET_INCOMPLETE = "set_incomplete"
    SET_MORTGAGED = "set_mortgaged"
    HAS_BUILDINGS = "has_buildings"
    MAX_BUILDINGS = "max_buildings"
    UNEVEN = "uneven"
    NO_BUILDING = "no_building"
    NOT_MORTGAGED = "not_mortgaged"
    ALREADY_MORTGAGED = "already_mortgaged"
    # sums
    EMPTY_SIDE = "empty_side"
    INVALID_AMOUNT = "invalid_amount"
    BID_TOO_LOW = "bid_too_low"
    BID_STEP = "bid_step"
    INSUFFICIENT_CASH = "insufficient_cash"
    ZERO_IS_BUST = "zero_is_bust"
    # the platform's own
    UNKNOWN_TABLE = "unknown_table"
    UNKNOWN_EDITION = "unknown_edition"
    BAD_REQUEST = "bad_request"
    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    TOO_MANY_TABLES = "too_many_tables"
    MUTED = "muted"
    BANNED = "banned"
    VIEWERS_CLOSED = "viewers_closed"
    SIGN_IN_REQUIRED = "sign_in_required"
    TOKEN_EXPIRED = "token_expired"
    INSUFFICIENT_CREDITS = "insufficient_credits"
    STALE_VERSION = "stale_version"
    TABLE_BROKEN = "table_broken"
    UNAVAILABLE = "unavailable"


SENTENCES: dict[Code, str] = {
    Code.NOT_SEATED: "You have no seat at this table.",
    Code.OUT_OF_GAME: "You are out of this game.",
    Code.TABLE_CLOSED: "This table is closed.",
    Code.GAME_OVER: "This game is over.",
    Code.PAUSED: "The table stands still until one of its players is back.",
    Code.TABLE_FULL: "All seats of this table are taken.",
    Code.TABLE_STARTED: "This game has started already.",
    Code.WRONG_PIN: "That is not the PIN of this table.",
    Code.NOT_HOST: "Only the host may do that.",
    Code.NOT_ADMIN: "Only an admin may do that.",
    Code.BAD_OPTION: "This edition has no such option, or not that value of it.",
    Code.BAD_PARTNER: "That seat cannot be the other side of this.",
    Code.NOT_AWAY: "That player is not away.",
    Code.NOT_A_BOT: "That seat is not a bot's.",
    Code.KEY_REUSED: "This command id was used before with other content.",
    Code.STALE_PROMPT: "This prompt is no longer open.",
    Code.WRONG_PHASE: "That cannot be done in this phase of the game.",
    Code.NOT_YOUR_TURN: "It is not your turn.",
    Code.TOO_EARLY: "The owner still has a moment to claim the rent.",
    Code.AUCTION_CLOSED: "This auction is over.",
    Code.ALREADY_PASSED: "You have passed in this auction.",
    Code.ALREADY_HIGH_BIDDER: "The highest bid is yours already.",
    Code.VOTE_OPEN: "A vote is open already.",
    Code.VOTE_COOLDOWN: "A vote failed a moment ago; the next one has to wait.",
    Code.NO_VOTE: "There is no vote that you could answer.",
    Code.OFFER_GONE: "This offer is no longer open.",
    Code.OFFER_OPEN: "You have an open offer already.",
    Code.OFFER_COOLDOWN: "After a refusal the two of you have to wait a moment.",
    Code.OFFER_UNANSWERED: "Too many offers lie unanswered at this player.",
    Code.OFFER_QUOTA: "You have made all the offers you may make for now.",
    Code.NOTHING_TO_CLAIM: "There is no rent that you could claim.",
    Code.NOT_IN_JAIL: "You are not in prison.",
    Code.NO_CARD: "There is no such card to use.",
    Code.IN_DEBT: "A debt has to be settled first.",
    Code.DEBTS_OPEN: "Somebody else still owes.",
    Code.NO_DEBT: "You owe nothing.",
    Code.UNKNOWN_FIELD: "The board has no such field.",
    Code.NOT_A_LOT: "That field cannot be owned.",
    Code.NOT_A_STREET: "That lot cannot be built on.",
    Code.ALREADY_OWNED: "That lot is owned already.",
    Code.NOT_OWNER: "That does not belong to the one who would give it.",
    Code.ASSET_CHANGED: "Something in this offer has changed since it was made.",
    Code.SET_INCOMPLETE: "The set is not complete in your hand.",
    Code.SET_MORTGAGED: "A lot of the set is mortgaged.",
    Code.HAS_BUILDINGS: "There are buildings in the way.",
    Code.MAX_BUILDINGS: "Nothing more can be built there.",
    Code.UNEVEN: "Buildings go up and come down evenly in a set.",
    Code.NO_BUILDING: "There is no building to sell.",
    Code.NOT_MORTGAGED: "That lot is not mortgaged.",
    Code.ALREADY_MORTGAGED: "That lot is mortgaged already.",
    Code.EMPTY_SIDE: "Both sides have to give something.",
    Code.INVALID_AMOUNT: "That is not a possible amount.",
    Code.BID_TOO_LOW: "The bid is too low.",
    Code.BID_STEP: "The bid does not rise by an allowed step.",
    Code.INSUFFICIENT_CASH: "There is not enough cash for that.",
    Code.ZERO_IS_BUST: "That would leave nothing, and nothing means out.",
    Code.UNKNOWN_TABLE: "There is no such table.",
    Code.UNKNOWN_EDITION: "There is no such edition.",
    Code.BAD_REQUEST: "The request is malformed.",
    Code.TOO_LARGE: "The message is too large.",
    Code.RATE_LIMITED: "Too many requests; wait a moment.",
    Code.TOO_MANY_TABLES: "You have as many open tables as you may have.",
    Code.MUTED: "You may not write here.",
    Code.BANNED: "This identity is banned.",
    Code.VIEWERS_CLOSED: "This table takes no viewers.",
    Code.SIGN_IN_REQUIRED: "Sign in first.",
    Code.TOKEN_EXPIRED: "The session has ended; sign in again.",
    Code.INSUFFICIENT_CREDITS: "There are not enough credits in the wallet.",
    Code.STALE_VERSION: "The table has moved on since the version you name.",
    Code.TABLE_BROKEN: "This table is out of order; the operators have been told.",
    Code.UNAVAILABLE: "The service cannot be reached; try again.",
}


class Refused(msgspec.Struct, frozen=True, gc=False):
    """The answer of ``verify`` when the rules say no: a code and one clear sentence."""

    code: Code
    sentence: str

    @classmethod
    def because(cls, code: Code) -> Refused:
        """The refusal with the code's own sentence."""
        return _REFUSALS[code]


_REFUSALS = {code: Refused(code, sentence) for code, sentence in SENTENCES.items()}
