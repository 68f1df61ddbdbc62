// One row of the output as elements: number that is a link, styled text, marks, progress bar. Text only, never HTML.
import { dress, fold, PLAIN, plain, runs } from "./log-ansi.js";
import { bytes, say } from "./words.js";

const SHOWN = 2000;     // characters of one row; the rest on request
const STYLES = 80;      // styled parts of one row
const BAR = /(\d{1,3})%\|([^|]{1,400})\|/;
const SVG = "http://www.w3.org/2000/svg";

const make = (name, className, text = "") => {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
};

/** A row of the file. `known` comes from LogLines.row; `look` says how: {style, bad, linked, needle, now, whole}. */
export function lineRow(known, look) {
  const row = make("div", "log__row");
  row.dataset.at = known.from;
  row.classList.toggle("is-bad", look.bad);
  row.classList.toggle("is-linked", look.linked);
  row.append(number(known));
  const text = row.appendChild(make("span", "t"));
  if (known.text === null) { text.append(make("span", "log__away", say("loading"))); return row; }
  const { text: shown, folded } = fold(known.text);
  const cut = look.whole ? shown : shown.slice(0, SHOWN);
  fill(text, cut, look);
  if (shown.length > cut.length) text.append(more(shown.length - cut.length));
  if (folded) text.append(make("span", "fold", say("folded", { n: folded })));
  return row;
}

function number({ number: line, from, goesOn }) {
  const link = make("a", "log__n", goesOn ? "" : line ?? "·");
  link.href = line === null ? `#B${from}` : `#L${line}`;
  link.tabIndex = -1;
  if (line === null) link.title = say("byte", { n: from });
  if (goesOn) link.setAttribute("aria-label", say("goes_on"));
  return link;
}

function more(n) {
  const button = make("button", "fold", say("more_text", { n }));
  button.type = "button";
  button.dataset.act = "whole";
  return button;
}

// The runs of a row, cut where a match begins and ends.
function fill(box, raw, { style, needle, now }) {
  const bar = BAR.exec(plain(raw));
  const parts = runs(raw, style).runs;
  if (bar && parts.length < STYLES) { drawBar(box, parts, bar, needle, now); return; }
  for (const part of parts.slice(0, STYLES)) put(box, part, needle, now);
  const rest = parts.slice(STYLES).map(({ text }) => text).join("");
  if (rest) put(box, { text: rest, style: PLAIN }, needle, now);
}

function put(box, { text, style }, needle, now) {
  let into = box;
  if (style !== PLAIN) {
    into = box.appendChild(make("span", ""));
    dress(into, style);
  }
  if (!needle) { into.append(text); return; }
  const low = text.toLowerCase();
  let at = 0;
  for (let hit = low.indexOf(needle); hit !== -1; hit = low.indexOf(needle, at)) {
    into.append(text.slice(at, hit), make("mark", now ? "now" : "", text.slice(hit, hit + needle.length)));
    at = hit + needle.length;
  }
  into.append(text.slice(at));
}

// A tqdm bar: "epoch 3:  37%|###7   | 190/512": its signs give way to a drawn bar of the same share.
function drawBar(box, parts, bar, needle, now) {
  const begin = bar.index + bar[1].length + 2;
  const end = begin + bar[2].length;
  let at = 0;
  let drawn = false;
  for (const part of parts) {
    const from = at;
    at += part.text.length;
    const before = part.text.slice(0, Math.max(0, begin - 1 - from));
    const after = part.text.slice(Math.max(0, end + 1 - from));
    if (before) put(box, { text: before, style: part.style }, needle, now);
    if (at > begin && !drawn) { box.append(barOf(Number(bar[1]))); drawn = true; }
    if (after) put(box, { text: after, style: part.style }, needle, now);
  }
}

function barOf(share) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", share >= 100 ? "tq tq--done" : "tq");
  svg.setAttribute("aria-hidden", "true");
  for (const [width, opacity] of [["100%", ".18"], [`${Math.min(100, share)}%`, "1"]]) {
    const rect = svg.appendChild(document.createElementNS(SVG, "rect"));
    for (const [name, value] of Object.entries({ width, height: "100%", fill: "currentColor", opacity })) {
      rect.setAttribute(name, value);
    }
  }
  return svg;
}

/** The notice in place of bytes that are not here. */
export function gapRow({ from, to }) {
  const row = make("div", "log__gap");
  row.dataset.at = from;
  row.append(make("span", "", say(from === 0 ? "before" : "gap", { size: bytes(to - from) })));
  const button = row.appendChild(make("button", "btn btn-quiet btn-small", say("load")));
  button.type = "button";
  button.dataset.act = "load";
  if (from === 0) {
    const start = row.appendChild(make("button", "btn btn-bare btn-small", say("from_start")));
    start.type = "button";
    start.dataset.act = "start";
  }
  return row;
}
