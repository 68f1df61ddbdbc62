// Terminal output as plain text with styles: colours and weights (SGR) are kept, every other escape is dropped.
// Nothing here makes HTML: a run is {text, style}, and the renderer sets it with textContent.

/* Sequences, longest first: SGR · other CSI · terminated OSC · terminated DCS, SOS, PM, APC · two-byte escapes.
   An OSC without its end loses only its introducer, so that it cannot hide the rest of a line. */
const ESCAPES = new RegExp([
  "\\x1b\\[([0-9;:]*)m",
  "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]",
  "(?:\\x1b\\]|\\x9d)[^\\x07\\x1b\\x9c]*(?:\\x07|\\x1b\\\\|\\x9c)",
  "(?:\\x1b[PX^_]|[\\x90\\x98\\x9e\\x9f])[^\\x1b\\x9c]*(?:\\x1b\\\\|\\x9c)",
  "\\x1b[ -/]*[0-~]", "\\x1b", "[\\x80-\\x9f]",
].join("|"), "g");
const CONTROLS = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]/g;
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g;  // could show a line in another order than it is written
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** No style at all. */
export const PLAIN = Object.freeze({ fg: null, bg: null, on: "" });

/** What a carriage return left on the line, and how many states it covers. */
export function fold(text) {
  if (!text.includes("\r")) return { text: rub(text), folded: 0 };
  const states = text.split("\r").filter((state) => state !== "");
  return { text: rub(states.at(-1) ?? ""), folded: Math.max(0, states.length - 1) };
}

// Backspaces take back what stands before them, as older progress bars expect.
function rub(text) {
  if (!text.includes("\b")) return text;
  const kept = [];
  for (const sign of text) {
    if (sign === "\b") kept.pop(); else kept.push(sign);
  }
  return kept.join("");
}

function visible(text) {
  return text
    .replace(CONTROLS, (sign) => String.fromCharCode(sign === "\x7f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)))
    .replace(BIDI, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

/** The text alone, as it is searched and copied. */
export function plain(text) {
  return visible(text.includes("\x1b") || /[\x80-\x9f]/.test(text) ? text.replace(ESCAPES, "") : text);
}

/** Runs of equal style, starting with `style`; the style at the end carries on to the next line. */
export function runs(text, style = PLAIN) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(ESCAPES)) {
    if (match.index > at) found.push({ text: visible(text.slice(at, match.index)), style });
    if (match[1] !== undefined) style = select(match[1], style);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: visible(text.slice(at)), style });
  return { runs: found, style };
}

// The 256-colour table: 16 by name, a 6×6×6 cube, 24 greys.
function indexed(n) {
  if (n < 16) return NAMES[n % 8];
  if (n > 255) return null;
  if (n > 231) return `rgb(${[0, 0, 0].fill(8 + (n - 232) * 10)})`;
  const level = (step) => (step ? 55 + step * 40 : 0);
  const cube = n - 16;
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level)})`;
}

// What follows 38 or 48: 5;N or 2;R;G;B (with colons an empty colour space may stand between). Gives [colour, used].
function extended(codes, at) {
  if (codes[at + 1] === 5) return [indexed(codes[at + 2] ?? 999), 2];
  if (codes[at + 1] !== 2) return [null, 1];
  const rgb = codes.slice(at + 2, at + 5);
  return [rgb.length === 3 && rgb.every((part) => part <= 255) ? `rgb(${rgb})` : null, 4];
}

const TURN_ON = { 1: "b", 2: "d", 3: "i", 4: "u", 7: "r", 9: "s" };
const TURN_OFF = { 22: "bd", 23: "i", 24: "u", 27: "r", 29: "s" };

function select(parameters, style) {
  const codes = parameters.replace(/([34]8:2):(?=[^;]*:[^;]*:[^;]*:)[^:]*:/g, "$1:").split(/[;:]/).map(Number);
  let { fg, bg, on } = style;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i];
    if (code === 0) { fg = null; bg = null; on = ""; }
    else if (TURN_ON[code]) on += on.includes(TURN_ON[code]) ? "" : TURN_ON[code];
    else if (TURN_OFF[code]) on = [...on].filter((mark) => !TURN_OFF[code].includes(mark)).join("");
    else if (code === 39) fg = null;
    else if (code === 49) bg = null;
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, i);
      if (code === 38) fg = colour; else bg = colour;
      i += used;
    } else if ((code >= 30 && code < 38) || (code >= 90 && code < 98)) fg = NAMES[code % 10];
    else if ((code >= 40 && code < 48) || (code >= 100 && code < 108)) bg = NAMES[code % 10];
  }
  return fg || bg || on ? { fg, bg, on } : PLAIN;
}

/** A style onto an element: named colours are classes, others go through the CSSOM, which a strict CSP allows. */
export function dress(element, { fg, bg, on }) {
  const swap = on.includes("r");
  for (const mark of on) element.classList.add(`a-${mark}`);
  paint(element, swap ? bg : fg, "a", "--fg");
  paint(element, swap ? fg : bg, "bg", "--bg");
}

function paint(element, colour, kind, property) {
  if (!colour) return;
  if (!colour.startsWith("rgb")) { element.classList.add(`${kind}-${colour}`); return; }
  element.classList.add(`${kind}-own`);
  element.style.setProperty(property, colour);
}
