// Find in the output: first in what is loaded here, in slices so that typing stays smooth; the whole file
// on the server.
import { plain, fold } from "./log-ansi.js";

const SLICE_MS = 12;
const MOST = 10_000;
/** What an error looks like in the output of a job. */
export const TROUBLE = new RegExp([
  "Traceback \\(most recent call last\\)",
  "\\b[A-Z]\\w*(?:Error|Exception)\\b:?", "\\b(?:ERROR|FATAL|CRITICAL|PANIC)\\b",
  "\\berror:", "out of memory", "Segmentation fault", "core dumped", "\\bKilled\\b", "command not found",
].join("|"));

const pause = () => new Promise((done) => { setTimeout(done, 0); });

/** What a person reads in a row. */
export const readable = (text) => plain(fold(text).text);

export class LogFind {
  constructor(lines) {
    this.lines = lines;
    this.clear();
  }

  clear() {
    this.query = "";
    this.hits = [];      // byte offsets of rows, in order
    this.at = -1;
    this.capped = false;
    this.turn = (this.turn ?? 0) + 1;
  }

  get needle() { return this.query.toLowerCase(); }

  /** Look for a text in every loaded row; false where a newer search has taken over. */
  async search(query) {
    this.clear();
    this.query = query;
    const { turn } = this;
    if (!query) return true;
    let until = performance.now() + SLICE_MS;
    for (let row = 0; row < this.lines.rows && this.hits.length < MOST; row += 1) {
      this.look(row);
      if (performance.now() < until) continue;
      await pause();
      if (turn !== this.turn) return false;
      until = performance.now() + SLICE_MS;
    }
    this.capped = this.hits.length >= MOST;
    return true;
  }

  look(row) {
    const { text, from } = this.lines.row(row);
    if (text && readable(text).toLowerCase().includes(this.needle)) this.hits.push(from);
  }

  /** Matches that the server found in the whole file take the place of our own. */
  adopt({ matches, capped }) {
    this.hits = matches.map(({ offset }) => offset);
    this.capped = Boolean(capped);
    this.at = -1;
  }

  /** The next (1) or previous (-1) match around a byte, or null. */
  step(direction, around) {
    if (!this.hits.length) return null;
    if (this.at === -1) {
      const after = this.hits.findIndex((offset) => offset >= around);
      this.at = after === -1 ? this.hits.length - 1 : after;
    } else this.at = (this.at + direction + this.hits.length) % this.hits.length;
    return this.hits[this.at];
  }

  /** The byte of the current match, or null. */
  get now() { return this.hits[this.at] ?? null; }

  /** The first loaded row that looks like trouble, as its byte; null where there is none. */
  trouble() {
    for (let row = 0; row < this.lines.rows; row += 1) {
      const { text, from } = this.lines.row(row);
      if (text && TROUBLE.test(readable(text))) return from;
    }
    return null;
  }
}
