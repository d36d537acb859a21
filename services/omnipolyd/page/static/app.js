// The page: the way in, or one table; which of them, the address says: #TABLE, and ?language=ru for names and record.
import { drawBoard } from "./board.js";
import { h, notice, show } from "./dom.js";
import { Table } from "./follow.js";
import { home, signInForm } from "./home.js";
import { editOffer } from "./offer.js";
import { actions, centre, Chat, phaseOf, players, Record, tick, trades } from "./panels.js";
import { act, call, chat, fresh, lobby, me, signOut } from "./wire.js";
import { DO } from "./words.js";

const FINAL = ["leave", "give_up", "propose_end"]; // asked for twice: nobody wants them by mistake

const main = document.getElementById("main");
const asked = new URLSearchParams(location.search);
const language = asked.get("language") ?? "";
let table = null;
let pins = {};

function top() {
  const leave = () => {
    signOut();
    location.hash = "";
    route();
  };
  show(document.getElementById("top"), h("a", { href: "#" }, "Omnipoly"), me() ? [h("span", {}, me().name), h("button.quiet", { onclick: leave }, "Sign out")] : null);
}

async function route() {
  table?.stop();
  table = null;
  top();
  const id = location.hash.slice(1);
  if (!me()) return show(main, signInForm(route));
  try {
    if (id) showTable(id);
    else await home(main, { language, open });
  } catch (refused) {
    if (refused.signedOut) signOut();
    show(main, h("p.note", {}, refused.message));
  }
}

function open(id, pin) {
  if (pin) pins[id] = pin;
  location.hash = id;
}

function showTable(id) {
  const [board, seats, doing, offers] = [h("div"), h("div"), h("div"), h("div")];
  const record = new Record();
  const talk = new Chat((text) => attempt(() => call(chat.say, { table: id, commandId: fresh(), text })));
  let picked = null;
  let card = null;
  let shownActions = "";

  const attempt = async (work) => {
    try {
      await work();
    } catch (refused) {
      notice(refused.message, true);
    }
    if (mine.view) mine.look();
  };
  const does = (kind, fields) => {
    const final = mine.view.inPlay && FINAL.includes(kind);
    if (!final || confirm(`${DO[kind]}?`)) attempt(() => act(id, kind, fields));
  };
  const pick = (at) => {
    picked = picked === at ? null : at;
    card = null;
    readCard();
    draw();
  };
  const readCard = async () => {
    if (picked === null || !mine.view?.inPlay) return;
    try {
      const answer = await call(lobby.getFieldCard, { table: id, field: picked, pin: mine.pin, language });
      if (answer.card.field !== picked) return;
      card = answer.card;
      draw();
    } catch (refused) {
      notice(refused.message, true);
    }
  };
  const draw = () => {
    if (mine.gone) notice(mine.gone, true);
    if (!mine.view) return mine.gone && show(main, h("p.note", {}, mine.gone));
    const { view } = mine;
    show(board, drawBoard(mine, picked, pick, centre(mine, picked, card)));
    show(seats, players(mine));
    // What is being typed or chosen stays while nothing changes in what may be done.
    const what = JSON.stringify([mine.prompt, view.inPlay, view.seats.map((seat) => seat.holder), mine.host, view.ended], (_, value) => (typeof value === "bigint" ? String(value) : value));
    if (what !== shownActions) {
      shownActions = what;
      show(doing, view.inPlay ? actions(mine, does, (allowed) => editOffer(mine, allowed, (fields) => does("offer", fields))) : beforeStart(mine, does));
    }
    show(offers, trades(mine, does));
    record.show(mine.lines);
    talk.show(mine);
    main.dataset.version = String(view.version);
    main.dataset.phase = phaseOf(mine);
    tick(mine);
  };

  const mine = new Table(id, { pin: pins[id] ?? "", language, changed: draw });
  table = mine;
  show(main, h("div.table", {}, board, h("div.side", {}, doing, seats, offers), h("div.side", {}, record.element, talk.element)));
  mine.run();
}

/** Who sits, and what they and the host may do before the start. */
function beforeStart(mine, does) {
  const { view } = mine;
  if (view.ended) return h("section.actions", {}, h("p.note", {}, "This table is closed."));
  const button = (kind, text, fields = {}) => h("button", { "data-do": kind, onclick: () => does(kind, fields) }, text);
  const sits = mine.seat >= 0;
  return h(
    "section.actions",
    {},
    h("h2", {}, "Before the start"),
    h("p.note", {}, `This table's address: ${location.href}`),
    sits ? button("leave", "Get up") : button("join", "Sit down", { name: me().name, pin: mine.pin }),
    mine.host ? [button("add_bot", "Add a bot"), button("start", "Start the game")] : null,
    mine.host ? view.seats.map((seat, n) => (seat.bot ? button("remove", `Remove ${seat.name}`, { seat: n }) : null)) : null,
  );
}

addEventListener("hashchange", route);
setInterval(() => tick(table), 200);
route();
