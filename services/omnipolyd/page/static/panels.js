// What stands around the board: players, what one may do, the auction, trades, the record, the chat.
import { groups, isIn, seatColour, token } from "./board.js";
import { h } from "./dom.js";
import { money } from "./follow.js";
import { me, nameOf, number } from "./wire.js";
import { DO, ENDINGS, LEVELS, OUTS, PHASES, ROWS } from "./words.js";

export const partyName = (table, seat) => (seat >= 0 ? (table.view.seats[seat]?.name ?? `seat ${seat}`) : "the bank");
export const fieldName = (table, at) => table.board.fields[at]?.name ?? `field ${at}`;
export const phaseOf = (table) => nameOf("game.v1.Phase", table.view.phases.at(-1));

/** A clock that ticks by itself: `tick` below moves all of them. */
export const clock = (time) => (time ? h("span.clock", { "data-until": JSON.stringify({ s: String(time.seconds), n: time.nanos }) }) : null);

/** Moves every clock on the page. */
export function tick(table) {
  for (const one of document.querySelectorAll(".clock")) {
    const until = JSON.parse(one.dataset.until);
    const left = table?.view ? table.leftMs({ seconds: BigInt(until.s), nanos: until.n }) : null;
    one.textContent = left === null ? "" : `${(left / 1000).toFixed(left < 10_000 ? 1 : 0)} s`;
    one.classList.toggle("late", left !== null && left < 5000);
  }
}

export function players(table) {
  const { view, edition, board } = table;
  const colours = groups(board);
  const rows = view.seats.map((seat, n) => {
    const lots = view.fields.flatMap((field, at) => (field.owner === n ? [at] : []));
    const out = !isIn(seat) && OUTS[nameOf("game.v1.Out", seat.out)];
    const place = view.places[n];
    const notes = [
      place ? `place ${place}` : null,
      out || null,
      seat.jailed >= 0 ? "in jail" : null,
      nameOf("game.v1.Away", seat.away) !== "no" && isIn(seat) && !seat.bot ? "away" : null,
      seat.bot ? "bot" : null,
      seat.cards.length ? `${seat.cards.length} jail-free` : null,
      ...view.debts.filter((debt) => debt.debtor === n).map((debt) => `owes ${money(edition, debt.amount)}`),
    ];
    return h(
      `li.player${view.turn === n && !view.ended ? ".turn" : ""}${out ? ".out" : ""}`,
      { "data-seat": String(n) },
      token(view, n),
      h("span.who", {}, seat.name, seat.holder === me()?.person ? h("em", {}, " you") : null),
      h("span.cash", {}, view.inPlay && !out ? money(edition, seat.cash) : ""),
      h("span.notes", {}, notes.filter(Boolean).join(", "), " ", clock(seat.deadline)),
      h(
        "span.lots",
        {},
        lots.map((at) => {
          const field = board.fields[at];
          const style = `background:${colours.get(field.group) ?? "#999"}`;
          const mark = view.fields[at].mortgaged ? "m" : view.fields[at].level || "";
          return h("i", { style, title: field.name }, String(mark));
        }),
      ),
    );
  });
  return h("section.players", {}, h("h2", {}, "Players"), h("ol", {}, rows));
}

/** The middle of the board: where the game stands, and the card of the field that was picked. */
export function centre(table, picked, card) {
  const { view, edition } = table;
  const dice = view.dice.filter(Boolean).map((one) => h("span.die", {}, "⚀⚁⚂⚃⚄⚅"[one - 1]));
  const speed = nameOf("game.v1.Speed", view.speed);
  return [
    h("h1", {}, edition.title),
    h(
      "p.state",
      { "data-phase": phaseOf(table) },
      view.round ? `Round ${view.round}: ` : "",
      view.turn >= 0 && !view.ended ? `${partyName(table, view.turn)}, ` : "",
      PHASES[phaseOf(table)] ?? "",
    ),
    view.paused ? h("p.state", {}, "The game stands still until somebody is back.") : null,
    view.ended ? h("p.state.ended", {}, `${ENDINGS[nameOf("game.v1.Ending", view.ended)] ?? ""}.`, winner(table)) : null,
    dice.length ? h("p.dice", {}, dice, speed ? h("small", {}, ` ${speed}`) : null) : null,
    view.casino ? h("p.note", {}, `The casino holds ${money(edition, view.casino)}.`) : null,
    view.auction ? auction(table) : null,
    card && picked !== null ? fieldCard(table, card) : h("ol.lines.latest", {}, table.lines.slice(-6).map(recordLine)),
  ];
}

function winner(table) {
  const first = table.view.places.indexOf(1);
  return first >= 0 ? ` ${partyName(table, first)} wins.` : "";
}

/** All of a field: what it costs, and every rent, with the row that applies right now. */
function fieldCard(table, card) {
  const { edition } = table;
  const field = card.details;
  const sums = [
    ["price", field.price],
    ["house", field.houseCost],
    ["factory", field.factoryCost],
    ["mortgage", field.loan],
    ["lift", field.lift],
    ["to pay", field.amount],
  ].filter(([, amount]) => amount > 0n);
  const level = card.level ? ` ${LEVELS[card.level]}` : "";
  return h(
    "div.card",
    { "data-card": String(card.field) },
    h("h3", {}, field.name),
    h("p.note", {}, [field.groupTitle, card.owner >= 0 ? `owned by ${partyName(table, card.owner)}${level}` : null].filter(Boolean).join(", ")),
    h("p.note", {}, sums.map(([what, amount]) => `${what} ${money(edition, amount)}`).join(" · "), field.percent ? ` ${field.percent} %` : ""),
    h(
      "table",
      {},
      field.rentTable.map((row, n) =>
        h(
          n === card.applies ? "tr.applies" : "tr",
          {},
          h("td", {}, ROWS[nameOf("game.v1.RentRow.Kind", row.kind)]?.(row.number) ?? ""),
          h("td", {}, row.factor ? `${row.factor} × the throw` : money(edition, row.amount)),
        ),
      ),
    ),
  );
}

function auction(table) {
  const { view, edition } = table;
  const { auction: open } = view;
  const last = open.bids.at(-1);
  return h(
    "div.auction",
    { "data-auction": String(view.auctions) },
    h("h3", {}, "Auction: ", fieldName(table, open.lot), " ", clock(open.deadline)),
    h("p", {}, last ? `${partyName(table, last.seat)} bids ${money(edition, last.amount)}` : "no bid yet"),
    h("p.note", {}, open.bids.slice(-6, -1).reverse().map((bid) => `${partyName(table, bid.seat)} ${money(edition, bid.amount)}`).join(" · ")),
    open.bidder >= 0 ? h("p.note", {}, `${partyName(table, open.bidder)} is to bid or pass`) : null,
    open.passed.length ? h("p.note", {}, `out: ${open.passed.map((seat) => partyName(table, seat)).join(", ")}`) : null,
  );
}

/** What one side of a trade gives, in words. */
export function sideText(table, side) {
  const parts = [];
  if (side?.cash) parts.push(money(table.edition, side.cash));
  for (const at of side?.fields ?? []) parts.push(fieldName(table, at) + (table.view.fields[at]?.mortgaged ? " (mortgaged)" : ""));
  if (side?.cards.length) parts.push(`${side.cards.length} jail-free card${side.cards.length > 1 ? "s" : ""}`);
  return parts.join(", ") || "nothing";
}

export function trades(table, does) {
  const { view } = table;
  const may = (kind, offer) => table.prompt?.actions.some((one) => one.kind === kind && one.offers.includes(offer));
  return h(
    "section.trades",
    {},
    h("h2", {}, "Trades"),
    view.offers.length ? null : h("p.note", {}, "No offer is open."),
    view.offers.map((offer) =>
      h(
        "div.offer",
        { "data-offer": String(offer.offer) },
        h("p", {}, `${partyName(table, offer.proposer)} gives ${sideText(table, offer.give)} to ${partyName(table, offer.receiver)} for ${sideText(table, offer.take)}. `, clock(offer.deadline)),
        ["accept", "refuse", "withdraw"]
          .filter((kind) => may(kind, offer.offer))
          .map((kind) => h("button", { "data-do": kind, onclick: () => does(kind, { offer: offer.offer }) }, DO[kind])),
      ),
    ),
  );
}

const LATE = ["replace_with_bot", "remove", "take_seat", "leave", "propose_end", "give_up"];
const ELSEWHERE = ["accept", "refuse", "withdraw", "set_options", "contribute", "close_table", "join", "start", "add_bot"];

/** What one may do. `does(kind, fields)` does it, `offer()` opens the editor of a trade. */
export function actions(table, does, offer) {
  const { prompt, view } = table;
  const listed = (prompt?.actions ?? []).filter((one) => !ELSEWHERE.includes(one.kind));
  const row = (one) => h("div.do", {}, choice(table, one, does, offer));
  const asked = prompt?.promptId ? h("strong", {}, "Your decision ", clock(prompt.deadline)) : null;
  return h(
    "section.actions",
    { "data-prompt": String(prompt?.promptId ?? 0) },
    h("h2", {}, "You may ", asked),
    table.seat < 0 ? h("p.note", {}, "You watch.") : null,
    table.seat >= 0 && !listed.length && !view.ended ? h("p.note", {}, "Nothing now.") : null,
    listed.filter((one) => !LATE.includes(one.kind)).map(row),
    listed.some((one) => LATE.includes(one.kind))
      ? h("details", {}, h("summary", {}, "More"), listed.filter((one) => LATE.includes(one.kind)).map(row))
      : null,
  );
}

function choice(table, one, does, offer) {
  const { edition } = table;
  const label = DO[one.kind] ?? one.kind.replaceAll("_", " ");
  const sum = (amount) => (number(amount) ? ` (${number(amount) < 0 ? "−" : "+"}${money(edition, Math.abs(number(amount)))})` : "");
  const button = (text, fields = {}) => h("button", { "data-do": one.kind, onclick: () => does(one.kind, typeof fields === "function" ? fields() : fields) }, text);
  if (one.kind === "offer") return h("button", { "data-do": "offer", onclick: () => offer(one) }, label);
  if (one.kind === "bid") {
    const few = (one.amounts.length ? one.amounts : [one.least]).slice(0, 4);
    const buttons = few.map((amount) => button(`Bid ${money(edition, amount)}`, { auction: one.auction, amount }));
    if (one.amounts.length) return buttons;
    const amount = h("input", { type: "number", min: String(one.least), max: String(one.most), value: String(one.least), "aria-label": "amount" });
    return [buttons, amount, button("Bid this", () => ({ auction: one.auction, amount: BigInt(amount.value || 0) }))];
  }
  if (one.kind === "pass") return button(label, { auction: one.auction });
  if (one.kind === "vote") return [button("End the game: yes", { yes: true }), button("no", { yes: false })];
  if (one.kind === "choose_steps") return one.amounts.map((steps) => button(`${label} ${steps}`, { steps: Number(steps) }));
  if (one.fields.length) {
    const of = (field) => {
      const factory = nameOf("game.v1.Building", field.what) === "factory" ? "factory, " : "";
      return `${factory}${fieldName(table, field.field)}${sum(field.amount)}`;
    };
    if (one.fields.length === 1) return button(`${label}: ${of(one.fields[0])}`, pickedField(one.fields[0]));
    const select = h("select", { "aria-label": label }, one.fields.map((field, n) => h("option", { value: String(n) }, of(field))));
    return [button(label, () => pickedField(one.fields[select.value])), select];
  }
  if (one.seats.length) {
    const named = one.kind === "take_seat" ? { name: me().name } : {};
    return one.seats.map((seat) => button(`${label} ${partyName(table, seat)}`, { seat, ...named }));
  }
  return button(label + sum(one.amount));
}

const pickedField = (field) => (field.what ? { field: field.field, what: field.what } : { field: field.field });

const LOUD = ["turn_started", "game_ended", "seat_out", "auction_opened", "auction_closed", "bid_made", "offer_made", "offer_closed", "paid", "card_drawn"];

const recordLine = (line) => h(`li${LOUD.includes(line.kind) ? `.${line.kind}` : ""}`, {}, line.text);

/** The record: only what is new is added, so that it can be read while it grows. */
export class Record {
  constructor() {
    this.shown = 0;
    this.list = h("ol.lines");
    this.element = h("section.record", {}, h("h2", {}, "Record"), this.list);
  }

  show(lines) {
    const { list } = this;
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 20;
    list.append(...lines.slice(this.shown).map(recordLine));
    this.shown = lines.length;
    if (atEnd) list.scrollTop = list.scrollHeight;
  }
}

/** The chat, with a line to write in for those who may. */
export class Chat {
  constructor(say) {
    this.list = h("ol.lines");
    const text = h("input", { maxlength: "300", placeholder: "Say something", "aria-label": "chat" });
    const send = (event) => {
      event.preventDefault();
      if (text.value.trim()) say(text.value.trim());
      text.value = "";
    };
    this.element = h("section.chat", {}, h("h2", {}, "Chat"), this.list, h("form", { onsubmit: send }, text, h("button", {}, "Say")));
  }

  show(table) {
    const line = (one) => h("li", {}, h("b", { style: one.seat >= 0 ? `color:${seatColour(one.seat)}` : "" }, one.name), ` ${one.text}`);
    this.list.replaceChildren(...table.chat.slice(-60).map(line));
    this.list.scrollTop = this.list.scrollHeight;
  }
}
