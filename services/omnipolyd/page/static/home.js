// The way in: a name, a table of one's own, and the tables there are.
import { h, notice, show } from "./dom.js";
import { act, call, fresh, lobby, me, nameOf, number, serverInfo, signIn } from "./wire.js";
import { OPTIONS } from "./words.js";

const SECONDS = { clock: 1, timeLimit: 60 }; // options that are durations: seconds of their unit

/** The form of a guest's name; `then` follows. */
export function signInForm(then) {
  const name = h("input", { name: "name", required: true, maxlength: "40", placeholder: "Your name", "aria-label": "name" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(name.value.trim());
      then();
    } catch (refused) {
      notice(refused.message, true);
    }
  };
  return h("section.signin", {}, h("h1", {}, "Play as a guest"), h("form", { onsubmit: submit }, name, h("button", { "data-do": "sign-in" }, "Sign in")));
}

/** An option's field, from what the edition lets a host choose: a list, a range, or on and off. */
function optionField(name, option) {
  if (!option) return null;
  const label = OPTIONS[name] ?? name;
  if (typeof option.default === "boolean") {
    const box = h("input", { type: "checkbox", name, checked: option.default });
    return h("label.check", {}, box, ` ${label}`);
  }
  const set = String(option.default);
  const values = option.values.map((value) => h("option", { value: String(value), selected: String(value) === set }, String(value)));
  const range = option.range && { min: String(option.range.least), max: String(option.range.most) };
  const field = option.values.length ? h("select", { name }, values) : h("input", { type: "number", name, value: set, ...range });
  return h("label", {}, `${label} `, field);
}

/** What was chosen, as SetOptions has it; what stands as it was is left out. */
function chosen(form, options) {
  const found = {};
  for (const [name, option] of Object.entries(options)) {
    const field = form.elements.namedItem(name);
    if (!field || !option) continue;
    if (typeof option.default === "boolean") {
      if (field.checked !== option.default) found[name] = field.checked;
    } else if (field.value !== String(option.default)) {
      const value = BigInt(field.value || 0);
      found[name] = SECONDS[name] ? { seconds: value * BigInt(SECONDS[name]), nanos: 0 } : name === "roundLimit" ? Number(value) : value;
    }
  }
  return found;
}

const choicesOf = (edition) => Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, edition.options?.[name]]));

export async function home(place, { language, open }) {
  const [info, { tables }] = await Promise.all([serverInfo(), call(lobby.listTables, { pageSize: 50 })]);
  const edition = h("select", { name: "edition", "aria-label": "edition" }, info.editions.map((one) => h("option", { value: one.id }, `${one.title}: ${one.leastSeats}–${one.mostSeats} players`)));
  const bots = h("input", { type: "number", name: "bots", min: "0", max: "63", value: "3" });
  const pin = h("input", { name: "pin", pattern: "[0-9]{4,8}", placeholder: "none", size: "8" });
  const seated = h("input", { type: "checkbox", name: "seated", checked: true });
  const options = h("div.options");
  let choices = {};
  const choose = async () => {
    const found = (await call(lobby.getEdition, { edition: edition.value, language })).edition;
    choices = choicesOf(found);
    show(options, Object.entries(choices).map(([name, option]) => optionField(name, option)));
  };
  edition.addEventListener("change", choose);
  const create = async (event) => {
    event.preventDefault();
    const form = event.target;
    try {
      const asked = { requestId: fresh(), edition: edition.value, options: chosen(form, choices), pin: pin.value, unseated: !seated.checked };
      const { table } = await call(lobby.createTable, asked);
      for (let n = 0; n < Number(bots.value); n += 1) await act(table, "add_bot");
      open(table, pin.value);
    } catch (refused) {
      notice(refused.message, true);
    }
  };
  const list = tables.map((one) => {
    const status = nameOf("game.v1.TableStatus", one.status);
    const title = info.editions.find((known) => known.id === one.edition)?.title ?? one.edition;
    return h(
      "tr",
      { "data-table": one.table },
      h("td", {}, title),
      h("td", {}, one.hostName),
      h("td", {}, `${one.seats} of ${one.mostSeats}`),
      h("td", {}, status === "playing" ? `round ${number(one.round)}` : status),
      h("td", {}, h("button", { onclick: () => open(one.table, one.options?.private ? prompt("PIN of this table") ?? "" : "") }, status === "lobby" ? "Sit or watch" : "Watch")),
    );
  });
  show(
    place,
    h("section.new", {}, h("h1", {}, "A new table"), h("form", { onsubmit: create }, h("label", {}, "Edition ", edition), options, h("label", {}, "Bots ", bots), h("label", {}, "PIN ", pin), h("label.check", {}, seated, " I play myself"), h("button", { "data-do": "create" }, "Open the table"))),
    h("section.tables", {}, h("h1", {}, "Tables"), list.length ? h("table", {}, list) : h("p.note", {}, `None yet, ${me().name}.`)),
  );
  await choose();
}
