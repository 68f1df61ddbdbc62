// The find field of <log-viewer>: as one types in what is loaded, on request in the whole file; next, previous, count.
import { say } from "./words.js";

const PAUSE = 150;  // ms without a key before looking

export class LogFindBar {
  constructor(viewer, part, tell) {
    Object.assign(this, { viewer, part, tell, field: part("find") });
    this.field.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.look(), PAUSE);
    });
    this.field.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.step(event.shiftKey ? -1 : 1);
    }
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (this.field.value) { this.field.value = ""; this.look(); } else this.viewer.box.focus();
  }

  async look() {
    const { viewer } = this;
    if (!await viewer.find.search(this.field.value)) return;
    viewer.rows.refresh();
    if (viewer.find.hits.length) this.step(1); else this.counted();
  }

  /** Search the whole file on the server, the part not loaded here as well. */
  async everywhere() {
    const { viewer } = this;
    const all = this.field.value && await viewer.source.find(this.field.value);
    if (!all) { this.tell(say("no_server_find")); return; }
    viewer.find.adopt(all);
    this.step(1);
  }

  step(direction) {
    const { viewer } = this;
    if (viewer.find.query !== this.field.value) { this.look(); return; }
    const byte = viewer.find.step(direction, viewer.byteInSight());
    this.counted();
    if (byte !== null) viewer.showByte(byte).then(() => viewer.rows.refresh());
  }

  counted() {
    const { hits, at, capped, query } = this.viewer.find;
    const n = hits.length;
    const found = n ? say(capped ? "found_more" : "found", { at: at + 1, n }) : say("found_none");
    this.part("count").textContent = query ? found : "";
    this.part("server").hidden = !query || this.viewer.lines.whole;
  }
}
