// <log-viewer data-ws data-url data-stream>: the output of a job, live. It joins the model (log-lines), the window onto
// it (log-render), where the bytes come from (log-source), find and links. The toolbar is the server's own markup.
import { LogFind } from "./log-find.js";
import { choose, format, parse } from "./log-links.js";
import { LogLines } from "./log-lines.js";
import { LogPainter } from "./log-painter.js";
import { LogRows } from "./log-render.js";
import { LogSource } from "./log-source.js";
import { LogTools } from "./log-tools.js";
import { say } from "./words.js";

const CAP = 64 * 1024 * 1024;  // bytes of output kept in memory
const PIECE = 262144;
const REST = 150;              // ms between two loads that nobody asked for by a button
const AROUND = 32768;          // bytes loaded before a place jumped to
const WALK = 16 * 1024 * 1024; // how far to read for a line number without a byte

class LogViewer extends HTMLElement {
  connectedCallback() {
    this.stream = this.dataset.stream || "stdout";
    this.box = this.querySelector(".log__text");
    this.lines = new LogLines();
    this.find = new LogFind(this.lines);
    this.following = !parse(location.hash);
    this.wanted = parse(location.hash);
    this.chosen = null;
    this.unseen = 0;
    this.painter = new LogPainter(this);
    this.rows = new LogRows(this.box, {
      count: () => this.lines.rows,
      draw: (first, last) => this.painter.draw(first, last),
      moved: (way) => this.moved(way),
    });
    this.tools = new LogTools(this);
    this.listen();
    if (matchMedia("(max-width: 39.99rem)").matches) this.tools.wrap();  // a narrow screen reads wrapped lines
    this.source.start(this.stream);
  }

  disconnectedCallback() {
    this.source.stop();
    this.tools.close();
  }

  listen() {
    this.source = new LogSource({
      socket: this.dataset.ws, url: this.dataset.url, next: () => (this.lines.rows ? this.lines.end : null),
    });
    const on = (name, act) => this.source.addEventListener(name, ({ detail }) => act(detail));
    on("bytes", ({ offset, bytes, line }) => this.take(offset, bytes, line));
    on("at", (detail) => this.tools.status.about(detail));
    on("link", ({ state }) => this.tools.status.link(state));
    on("bye", ({ reason }) => this.tools.status.bye(reason));
    on("generation", () => this.startOver("started_over"));
    on("skipped", ({ from, to }) => { if (to > this.lines.end) this.tools.skipped(to - from); });
  }

  // --- bytes in --------------------------------------------------------------------------------------------
  take(offset, bytes, line) {
    if (this.following && this.box.scrollTop < this.rows.seen - 2) this.pause();  // a scroll that has not been told yet
    const before = this.lines.rows;
    this.keepPlace(() => {
      this.lines.append(offset, bytes, line);
      this.lines.shed(Number(this.dataset.cap) || CAP, this.rows.first);
    });
    if (!this.numbered && line === null && offset > 0) this.askNumber(offset);
    this.numbered = true;
    this.dataset.filled = "";
    this.unseen += this.following ? 0 : this.lines.rows - before;
    if (this.following) this.rows.toEnd();
    this.tools.status.show();
    if (this.wanted) this.goTo(this.wanted); else this.fillView();
  }

  // Progress bars fold many bytes into few rows: load earlier output until the view is full, within reason.
  fillView() {
    if (this.lines.fromStart || this.lines.rows > this.box.clientHeight / 20 || this.lines.held > WALK / 8) return;
    const { from, to } = this.lines.row(0);
    this.fetchSoon(from, to);
  }

  // A tail that came by socket: which line it begins in, the server counts.
  async askNumber(offset) {
    const found = await this.source.range(offset, offset + 1);
    if (!found?.line || !this.lines.rows) return;
    this.lines.anchor(offset, found.line);
    this.rows.refresh();
    this.tools.status.show();
  }

  /** Change the rows so that those in sight stay where they are. */
  keepPlace(change) {
    const top = this.following || !this.lines.rows ? null : this.rows.top();
    const at = top && this.lines.row(top.row).from;
    change();
    if (top) this.rows.place(this.lines.rowAt(at), top.y); else this.rows.refresh();
  }

  /** The file is another one now (requeue, truncation). */
  startOver(why) {
    this.lines.clear();
    this.find.clear();
    this.painter.clear();
    this.chosen = null;
    this.unseen = 0;
    this.numbered = false;
    this.following = true;
    this.rows.p = 0;
    this.rows.refresh();
    this.tools.startedOver(why);
  }

  /** Show the other stream. */
  show(stream) {
    this.stream = stream;
    delete this.dataset.filled;
    this.startOver();
    this.source.start(stream);
  }

  /** Load what is missing in [from, to), at most `most` bytes, the part next to `side` first. */
  async load(from, to, { most = PIECE * 4, side = "start" } = {}) {
    let left = Math.min(most, to - from);
    let at = side === "end" ? to - left : from;
    while (left > 0) {
      const found = await this.source.range(at, at + left);
      if (!found) return false;
      this.keepPlace(() => this.lines.insert(found.offset, found.bytes, found.line));
      at = found.offset + found.bytes.length;
      left -= found.bytes.length;
    }
    this.tools.status.show();
    return true;
  }

  // Rows whose bytes were dropped for want of memory, or the part above when somebody scrolls up to it.
  fetchSoon(from, to) {
    if (this.fetching) return;
    this.fetching = this.load(Math.max(from, to - PIECE), to, { side: "end" })
      .finally(() => setTimeout(() => this.rested(), REST));
  }

  // After a load and a rest: is there more to fetch for what is in sight?
  rested() {
    this.fetching = null;
    this.rows.refresh();
    if (!this.following) requestAnimationFrame(() => this.reachUp());
  }

  fetchAgain(byte) {
    const { from, to } = this.lines.rangeFor(this.lines.rowAt(byte));
    this.fetchSoon(from, to);
  }

  // --- where one is ----------------------------------------------------------------------------------------
  moved(way) {
    if (this.rows.atEnd && way > 0) this.follow();
    else if (this.following && !this.rows.atEnd) this.pause();
    if (way < 0) requestAnimationFrame(() => this.reachUp());
  }

  // Somebody came to the upper edge of what is loaded: bring what stands before it.
  reachUp() {
    if (!this.lines.rows || this.lines.fromStart || this.rows.first > 0) return;
    const { from, to } = this.lines.row(0);
    this.fetchSoon(from, to);
  }

  follow() {
    this.following = true;
    this.unseen = 0;
    this.rows.toEnd();
    this.tools.followed();
  }

  pause() {
    if (!this.following) return;
    this.following = false;
    this.unseen = 0;
    this.tools.followed();
  }

  /** Show the row of a byte, loading what is around it where that is not here. */
  async showByte(offset) {
    this.pause();
    const { gap, from, to } = this.rowOf(offset);
    if (gap) {
      const start = Math.max(from, offset - AROUND);
      await this.load(start, Math.min(to, start + PIECE));
    }
    this.rows.place(this.lines.rowAt(offset), this.box.clientHeight / 3);
  }

  /** The first line of the file. */
  async toStart() {
    if (!this.lines.rows) return;
    await this.showByte(0);
    this.rows.place(0, 0);
  }

  /** What is known of the row of a byte. */
  rowOf(byte) { return this.lines.row(this.lines.rowAt(byte)); }

  /** The byte at the upper edge. */
  byteInSight() { return this.lines.rows ? this.lines.row(this.rows.top().row).from : 0; }

  /** The first line in sight as a choice to link to; null where there is none. */
  firstInSight() {
    if (!this.lines.rows) return null;
    const { number, from, gap } = this.lines.row(this.rows.top().row);
    return gap ? null : { line: number, lastLine: number, from };
  }

  /** Follow a link to lines. */
  async goTo(target) {
    this.wanted = null;
    this.pause();
    if (target.line !== null && target.from === null) target.from = await this.byteOfLine(target.line);
    if (target.from === null) { this.tools.status.tell(say("no_line", { n: target.line })); return; }
    this.chosen = target;
    await this.showByte(target.from);
  }

  // The byte where a line begins: known here, else by reading from the start, as far as that is reasonable.
  async byteOfLine(line) {
    for (let read = 0; read < WALK; read += PIECE) {
      const row = this.lines.rowOfLine(line);
      if (row >= 0) return this.lines.row(row).from;
      const gap = this.lines.pieces.find((piece) => piece.starts === undefined);
      if (!gap || !await this.load(gap.from, gap.to, { most: PIECE })) return null;
    }
    return null;
  }

  /** A click on a line's number. */
  choose(known, extend) {
    this.chosen = choose(known, this.chosen, extend);
    history.replaceState(history.state, "", format(this.chosen));
    this.rows.refresh();
  }
}

customElements.define("log-viewer", LogViewer);
