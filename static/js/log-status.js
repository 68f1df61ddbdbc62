// What <log-viewer> says of itself: connection, lines, size, age of the last byte; and the button for what came
// meanwhile.
import { announce } from "./live-region.js";
import { ago, bytes, say } from "./words.js";

const FRESH = new Set(["live", "polling", "ended"]);
const ABSENT = {
  waiting: "no_output", missing: "no_output", gone: "gone", joined: "joined", denied: "not_shown",
  "not-owner": "not_shown",
  "not-regular": "not_shown", failed: "unreadable",
};

export class LogStatus {
  constructor(viewer, part) {
    Object.assign(this, { viewer, part, linked: "connecting" });
    this.file = { size: null, state: null, age: null, at: performance.now() };
    this.timer = setInterval(() => this.show(), 1000);
  }

  /** A sentence above the output, also for screen readers; an empty one takes it away. */
  tell(sentence) {
    this.part("note").textContent = sentence;
    announce(sentence);
  }

  about({ size, state, age }) {
    if (state !== this.file.state) this.became(state);
    this.file = { size, state, age, at: performance.now() };
    this.show();
  }

  became(state) {
    this.part("empty").textContent = ABSENT[state] ? say(ABSENT[state]) : "";
    this.viewer.dataset.state = state ?? "";
  }

  link(state) {
    if (state === this.linked) return;
    this.linked = state;
    if (["offline", "reconnecting"].includes(state)) announce(say(`link_${state}`));
    this.show();
  }

  bye(reason) {
    this.link(reason === "ended" ? "ended" : "closed");
    if (reason !== "ended") this.tell(say("refused"));
  }

  // Whether the job is over and all that it wrote is here.
  whole() {
    const { viewer, file } = this;
    const whole = viewer.dataset.over === "yes" && viewer.lines.end > 0 && viewer.lines.end >= file.size;
    if (whole && this.saidWhole === false) announce(say("complete"));
    this.saidWhole = whole;
    return whole;
  }

  show() {
    const { viewer, file, part } = this;
    const link = this.whole() ? "ended" : this.linked;
    part("link").textContent = say(`link_${link}`);
    part("link").parentElement.classList.toggle("fresh--old", !FRESH.has(link));
    const { lines, end } = viewer.lines;
    const size = Math.max(file.size ?? 0, end);
    part("size").textContent = lines === null ? bytes(size) : say("lines", { n: lines, size: bytes(size) });
    const seconds = file.age === null ? null : file.age + (performance.now() - file.at) / 1000;
    const aged = seconds !== null && size && link !== "ended";
    part("age").textContent = aged ? say("last_byte", { ago: ago(seconds) }) : "";
    part("new").hidden = viewer.following || !viewer.unseen;
    if (viewer.unseen) part("new-label").textContent = say("new_lines", { n: viewer.unseen });
  }
}
