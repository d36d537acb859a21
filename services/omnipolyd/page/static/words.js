// The page's own words. Names, cards and the record are the edition's, in whatever language is asked for.

export const DO = {
  roll: "Roll the dice",
  buy: "Buy",
  decline: "Decline",
  pay_bail: "Pay the bail",
  use_card: "Use a jail-free card",
  choose_steps: "Walk",
  teleport: "Go to",
  travel: "Ride to",
  end_turn: "End the turn",
  bid: "Bid",
  pass: "Pass",
  pay: "Pay",
  raise: "Raise the money",
  give_up: "Give up",
  claim_rent: "Claim the rent",
  build: "Build",
  sell_building: "Sell a building",
  sell_property: "Sell to the bank",
  mortgage: "Mortgage",
  lift_mortgage: "Lift a mortgage",
  accept: "Accept",
  refuse: "Refuse",
  withdraw: "Withdraw",
  offer: "Offer a trade …",
  leave: "Leave the game",
  propose_end: "Propose to end for everybody",
  replace_with_bot: "Hand to a bot",
  take_seat: "Take the seat of",
  remove: "Remove",
};

export const PHASES = {
  lobby: "waiting for the start",
  order: "throwing for the order of play",
  throw: "to throw",
  playing_out: "playing out the throw",
  landed: "to buy or not",
  choice: "to choose",
  auction: "auction",
  debt: "debts are open",
  liquidation: "the bank raises money",
  moved: "to go on or end the turn",
  over: "the game is over",
};

export const ROWS = {
  bare: () => "Without buildings",
  part: (n) => `${n} lots of the set`,
  set: () => "Whole set",
  houses: (n) => (n === 1 ? "1 house" : `${n} houses`),
  hotel: () => "Hotel",
  factory: () => "Factory",
  transports: (n) => `${n} in one hand`,
  utilities: (n) => `${n} in one hand`,
  mortgaged: () => "Mortgaged",
};

export const OUTS = { bankrupt: "bankrupt", left: "left", removed: "removed", gave_up: "gave up" };

export const ENDINGS = {
  last_standing: "one is left",
  round_limit: "the last round is over",
  time_limit: "the time is up",
  vote: "everybody wanted to end",
  alone: "one person is left",
  closed: "an operator closed the table",
  idle: "nobody played",
  abandoned: "everybody left",
};

export const OPTIONS = {
  startCash: "Start money",
  clock: "Seconds for a decision",
  roundLimit: "Rounds (0: no limit)",
  timeLimit: "Minutes (0: no limit)",
  entryFee: "Entry fee, credits",
  autoClaim: "Rents are claimed for everybody",
  viewersChat: "Viewers may write in the chat",
  viewersTakeBots: "Viewers may take a bot's seat",
};

/** What stands on a street: four houses at most, a hotel, a factory. */
export const LEVELS = ["", "▪", "▪▪", "▪▪▪", "▪▪▪▪", "◼ hotel", "⚙ factory"];
