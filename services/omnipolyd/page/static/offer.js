// The editor of a trade: to whom, what one gives, what one takes.
import { h } from "./dom.js";
import { fieldName, partyName } from "./panels.js";

/** Opens it for what is allowed, a LegalAction of kind "offer"; `make(fields)` makes the offer. */
export function editOffer(table, allowed, make) {
  const { view } = table;
  const mine = table.seat;
  const to = h("select", { "aria-label": "to" }, allowed.seats.map((seat) => h("option", { value: String(seat) }, partyName(table, seat))));
  const sides = h("div.sides");
  const forms = {};
  const side = (title, seat) => {
    const lots = allowed.fields.map((one) => one.field).filter((at) => view.fields[at].owner === seat);
    const cards = allowed.cards.filter((card) => view.seats[seat].cards.includes(card));
    const cash = h("input", { type: "number", min: "0", max: String(view.seats[seat].cash), value: "0", "aria-label": `${title}: cash` });
    const box = (name, label) => h("label", {}, h("input", { type: "checkbox", name, value: String(label.value) }), label.text);
    const element = h(
      "fieldset",
      {},
      h("legend", {}, title),
      h("label", {}, "Cash ", cash),
      lots.map((at) => box("lot", { value: at, text: fieldName(table, at) + (view.fields[at].mortgaged ? " (mortgaged)" : "") })),
      cards.map((card) => box("card", { value: card, text: "jail-free card" })),
    );
    const chosen = (name) => [...element.querySelectorAll(`input[name=${name}]:checked`)].map((one) => one.value);
    return { element, read: () => ({ cash: BigInt(cash.value || 0), fields: chosen("lot").map(Number), cards: chosen("card") }) };
  };
  const draw = () => {
    forms.give = side("You give", mine);
    forms.take = side(`${partyName(table, Number(to.value))} gives`, Number(to.value));
    sides.replaceChildren(forms.give.element, forms.take.element);
  };
  to.addEventListener("change", draw);
  draw();
  const dialog = h("dialog.trade");
  const send = (event) => {
    event.preventDefault();
    make({ to: Number(to.value), give: forms.give.read(), take: forms.take.read() });
    dialog.close();
  };
  const form = h(
    "form",
    { onsubmit: send },
    h("h2", {}, "Offer a trade to ", to),
    sides,
    h("p", {}, h("button", { "data-do": "send-offer" }, "Offer"), h("button.quiet", { type: "button", onclick: () => dialog.close() }, "Cancel")),
  );
  dialog.append(form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
