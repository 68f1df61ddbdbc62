// Turns rows of the model into elements for the window: carries colours and tracebacks from line to line, and keeps an
// element as long as nothing about its row has changed.
import { PLAIN, runs } from "./log-ansi.js";
import { readable, TROUBLE } from "./log-find.js";
import { holds } from "./log-links.js";
import { gapRow, lineRow } from "./log-row.js";

const LOOK_BACK = 40;  // rows read before the first drawn one, for what goes on from there

export class LogPainter {
  constructor(viewer) {
    this.viewer = viewer;
    this.clear();
  }

  clear() {
    this.kept = new Map();   // byte of a row -> {same, element}
    this.whole = new Set();  // bytes of rows shown in full
  }

  /** The elements of rows [first, last). */
  draw(first, last) {
    const { lines } = this.viewer;
    const drawn = [];
    const kept = new Map();
    let style = PLAIN;
    let trace = false;
    for (let row = Math.max(0, first - LOOK_BACK); row < last; row += 1) {
      const known = lines.row(row);
      const text = known.gap ? null : known.text;
      let bad = false;
      [bad, trace] = text === null ? [false, false] : troubleIn(text, trace);
      if (row >= first) drawn.push(this.element(known, { style, bad }, kept));
      if (known.gap) style = PLAIN;
      else if (text?.includes("\x1b")) ({ style } = runs(text, style));
    }
    this.kept = kept;
    return drawn;
  }

  element(known, { style, bad }, kept) {
    const { find, chosen } = this.viewer;
    const look = {
      style, bad, linked: holds(chosen, known), needle: find.needle, now: find.now === known.from,
      whole: this.whole.has(known.from),
    };
    const facts = [known.gap, known.to, known.number, known.goesOn, known.text === null, look];
    const same = JSON.stringify(facts);
    const old = this.kept.get(known.from);
    let element = old?.same === same ? old.element : null;
    element ??= known.gap ? gapRow(known) : lineRow(known, look);
    if (known.text === null) this.viewer.fetchAgain(known.from);
    kept.set(known.from, { same, element });
    return element;
  }
}

// Whether a row belongs to an error, and whether a traceback goes on after it.
function troubleIn(text, trace) {
  const said = readable(text).replace(/^\[[^\]]{1,24}\]:?\s?/, "");  // "[rank0]: " before each line
  if (/^\s*Traceback \(most recent call last\)/.test(said)) return [true, true];
  if (trace) return [true, said === "" || /^\s/.test(said)];
  return [TROUBLE.test(said), false];
}
