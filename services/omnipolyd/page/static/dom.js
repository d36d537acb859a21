// Making elements. Whatever people wrote becomes text, never markup.

/** An element: `h("button.quiet", { onclick }, "Roll")`. Children may be nested lists; null and false are left out. */
export function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== false && child !== undefined));
  return element;
}

/** Shows these in place of what an element held. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== false));
}

let fading;

/** Tells the player something for a while. */
export function notice(text, bad = false) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.className = bad ? "shown bad" : "shown";
  clearTimeout(fading);
  fading = setTimeout(() => (place.className = ""), 6000);
}

/** A colour that differs from its neighbours': of a set, or of a seat. */
export const colour = (number, light = 48) => `hsl(${Math.round((number * 137.508 + 12) % 360)} 62% ${light}%)`;
