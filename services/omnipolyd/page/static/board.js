// The ring, drawn from the edition alone: any number of fields, whatever they are.
import { colour, h } from "./dom.js";
import { money } from "./follow.js";
import { nameOf } from "./wire.js";
import { LEVELS } from "./words.js";

const SIGNS = {
  start: "⇦",
  transport: "⇄",
  utility: "∿",
  deck: "?",
  tax: "−",
  windfall: "+",
  jail: "▦",
  parking: "P",
  go_to_jail: "↯",
  casino: "♠",
  casino_fee: "♠−",
};

/**
 * Where each of n fields stands, as [column, row] from 1, on the edge of a rectangle: Start in the corner at the bottom
 * right, then to the left, as one walks. Of an odd ring the place before Start stays empty.
 */
export function ring(n) {
  const half = Math.ceil(n / 2);
  const columns = Math.ceil(half / 2) + 1;
  const rows = half + 2 - columns;
  const places = [];
  for (let column = columns; column >= 1; column -= 1) places.push([column, rows]);
  for (let row = rows - 1; row >= 1; row -= 1) places.push([1, row]);
  for (let column = 2; column <= columns; column += 1) places.push([column, 1]);
  for (let row = 2; row < rows; row += 1) places.push([columns, row]);
  return { columns, rows, places: places.slice(0, n) };
}

/** The colour of each set of streets, in the order in which the ring brings them. */
export function groups(board) {
  const names = [...new Set(board.fields.map((field) => field.group).filter(Boolean))];
  return new Map(names.map((name, index) => [name, colour(index)]));
}

export const seatColour = (seat) => colour(seat + 0.37, 42);

/** The board of a table; `pick(field)` is called for the field that is clicked, `centre` is shown in its middle. */
export function drawBoard(table, picked, pick, centre) {
  const { board, edition, view } = table;
  const { columns, rows, places } = ring(board.fields.length);
  const colours = groups(board);
  const cells = board.fields.map((field, at) => {
    const [column, row] = places[at];
    const kind = nameOf("game.v1.FieldKind", field.kind);
    const state = view.fields[at] ?? { owner: -1, level: 0, mortgaged: false };
    const here = view.inPlay ? view.seats.flatMap((seat, n) => (seat.position === at && isIn(seat) ? [n] : [])) : [];
    const price = field.price > 0n ? money(edition, field.price) : "";
    const set = colours.get(field.group);
    return h(
      `button.field.${kind}${state.mortgaged ? ".mortgaged" : ""}${at === picked ? ".picked" : ""}`,
      {
        style: `grid-column:${column};grid-row:${row};${state.owner >= 0 ? `--owner:${seatColour(state.owner)}` : ""}`,
        title: field.name,
        "data-field": String(at),
        onclick: () => pick(at),
      },
      set ? h("span.set", { style: `background:${set}` }, LEVELS[state.level]) : h("span.sign", {}, SIGNS[kind] ?? ""),
      h("span.name", {}, field.name),
      state.mortgaged ? h("span.price", {}, "mortgaged") : price && state.owner < 0 && h("span.price", {}, price),
      h("span.tokens", {}, here.map((n) => token(view, n))),
    );
  });
  const inner = `grid-column:2/${columns};grid-row:2/${rows}`;
  return h(
    "div.board",
    { style: `grid-template-columns:1.35fr repeat(${columns - 2},1fr) 1.35fr;--columns:${columns}`, "data-fields": String(board.fields.length) },
    cells,
    h("div.centre", { style: inner }, centre),
  );
}

export const isIn = (seat) => nameOf("game.v1.Out", seat.out) === "in";

/** A seat's figure. */
export function token(view, seat) {
  const name = view.seats[seat]?.name ?? "";
  return h("span.token", { style: `background:${seatColour(seat)}`, title: name }, initials(view, seat));
}

/** One letter where that tells the seats apart, else the seat's number. */
function initials(view, seat) {
  const first = (name) => [...name][0]?.toUpperCase() ?? "";
  const mine = first(view.seats[seat]?.name ?? "");
  return view.seats.filter((other) => first(other.name) === mine).length > 1 ? String(seat + 1) : mine;
}
