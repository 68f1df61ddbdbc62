// What the charts of a job's nodes say in words: values beside each title, what is not measured, the same as a table.
import { shownAs } from "./gpu-plot.js";
import { say } from "./words.js";

// Beside each title the values under the cross-hair, else the last ones, a node each.
export function titles(place, data, at) {
  place.querySelectorAll("h3").forEach((title, index) => {
    const { name, unit } = data.readings[index];
    const values = document.createElement("b");
    values.textContent = data.cards.map((_, card) => shownAs(unit, data.at(name, card, at))).join(" · ");
    title.replaceChildren(say(name), " ", values);
  });
}

export function absent(place, names) {
  place.hidden = !names.length;
  const said = say("not_measured", { names: names.map((name) => say(name)).join("; ") });
  place.textContent = names.some((name) => name.startsWith("pressure")) ? `${said} ${say("no_pressure")}` : said;
}

// A row a reading and node: its last, lowest and highest value of the part that is shown. Made anew while it is open.
export function twin(place, data) {
  place.hidden = false;
  if (!place.dataset.heard) {
    place.dataset.heard = "yes";
    place.addEventListener("toggle", () => fill(place, place.data));
  }
  place.data = data;
  fill(place, data);
}

function fill(place, data) {
  if (!place.open) return;
  place.querySelector("thead").replaceChildren(row("th", ["reading", "on_node", "last", "lowest", "highest"].map((key) => say(key)), "col"));
  const rows = data.readings.flatMap(({ name, unit }) => data.cards.map((one, card) => {
    const [lows, highs] = data.values.get(name)[card].map((column) => column.filter((value) => value !== null));
    const ends = lows.length ? [lows.reduce((a, b) => Math.min(a, b)), highs.reduce((a, b) => Math.max(a, b))] : [null, null];
    return row("td", [say(name), one.node, ...[data.at(name, card), ...ends].map((value) => shownAs(unit, value))]);
  }));
  place.querySelector("tbody").replaceChildren(...rows);
}

function row(kind, texts, scope = "row") {
  const line = document.createElement("tr");
  line.append(...texts.map((text, place) => {
    const cell = document.createElement(place ? kind : "th");
    if (cell.tagName === "TH") cell.scope = scope;
    if (place > 1) cell.className = "num";
    cell.textContent = text;
    return cell;
  }));
  return line;
}
