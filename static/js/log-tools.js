// The buttons and keys of <log-viewer>. The markup is the server's; data-act names what a button does.
import { copy } from "./copy.js";
import { LogFindBar } from "./log-findbar.js";
import { format, parse } from "./log-links.js";
import { LogStatus } from "./log-status.js";
import { isSingleKey } from "./shortcuts.js";
import { bytes, say } from "./words.js";

const KEYS = { f: "follow", w: "wrap", e: "trouble" };

export class LogTools {
  constructor(viewer) {
    this.viewer = viewer;
    this.part = (name) => viewer.querySelector(`[data-part="${name}"]`);
    for (const name of ["bar", "foot"]) this.part(name).hidden = false;
    this.status = new LogStatus(viewer, this.part);
    this.find = new LogFindBar(viewer, this.part, (sentence) => this.status.tell(sentence));
    this.acts = this.table();
    this.listen();
    this.followed();
  }

  listen() {
    const { viewer } = this;
    this.left = new AbortController();  // what is heard outside the element ends with it
    const outside = { signal: this.left.signal };
    viewer.addEventListener("click", (event) => this.click(event));
    viewer.box.addEventListener("keydown", (event) => this.move(event));
    viewer.box.addEventListener("wheel", ({ deltaY }) => { if (deltaY < 0) this.leave(); }, { passive: true });
    document.addEventListener("keydown", (event) => this.key(event), outside);
    addEventListener("hashchange", () => this.followLink(), outside);
  }

  close() {
    this.left.abort();
    clearInterval(this.status.timer);
    document.documentElement.classList.remove("has-full");
  }

  table() {
    const { viewer } = this;
    return {
      follow: () => (viewer.following ? viewer.pause() : viewer.follow()),
      end: () => { viewer.follow(); viewer.box.focus(); },
      stream: (button) => this.switchStream(button),
      wrap: () => this.wrap(),
      full: () => this.full(),
      link: (button) => this.copyLink(button),
      trouble: () => this.trouble(),
      next: () => this.find.step(1),
      previous: () => this.find.step(-1),
      server: () => this.find.everywhere(),
      whole: (button) => this.unfold(button),
      load: (button) => this.load(button),
      start: () => viewer.toStart(),
    };
  }

  click(event) {
    const number = event.target.closest(".log__n");
    if (number) {
      event.preventDefault();
      this.viewer.choose(this.known(number), event.shiftKey);
      return;
    }
    const button = event.target.closest("[data-act]");
    if (button) this.acts[button.dataset.act]?.(button);
  }

  known(element) { return this.viewer.rowOf(Number(element.closest("[data-at]").dataset.at)); }

  // --- what the buttons do ---------------------------------------------------------------------------------
  async load(button) {
    button.disabled = true;
    const { from, to } = this.known(button);
    const done = await this.viewer.load(from, to, { side: from === 0 ? "end" : "start" });
    if (!done) this.status.tell(say("not_loaded"));
    button.disabled = false;
  }

  unfold(button) {
    this.viewer.painter.whole.add(this.known(button).from);
    this.viewer.rows.refresh();
  }

  switchStream(button) {
    const all = this.viewer.querySelectorAll("[data-act=stream]");
    for (const one of all) one.setAttribute("aria-pressed", one === button);
    this.part("download").href = button.dataset.download;
    this.viewer.show(button.dataset.stream);
  }

  press(name, on) {
    this.viewer.querySelector(`[data-act="${name}"]`)?.setAttribute("aria-pressed", on);
  }

  wrap() {
    const { viewer } = this;
    viewer.keepPlace(() => {
      this.press("wrap", viewer.classList.toggle("log--wrap"));
      viewer.rows.relayout();
    });
  }

  full() {
    const on = this.viewer.classList.toggle("log--full");
    document.documentElement.classList.toggle("has-full", on);
    this.press("full", on);
    this.viewer.rows.refresh();
  }

  copyLink(button) {
    const chosen = this.viewer.chosen ?? this.viewer.firstInSight();
    if (chosen) copy(new URL(format(chosen), location.href).href, button);
  }

  async trouble() {
    const { viewer } = this;
    let byte = viewer.find.trouble();
    if (!viewer.lines.fromStart) {
      const all = await viewer.source.find("Traceback (most recent call last)");
      byte = all?.matches[0]?.offset ?? byte;
    }
    this.status.tell(byte === null ? say("no_trouble") : "");
    if (byte !== null) await viewer.showByte(byte);
  }

  followLink() {
    const target = parse(location.hash);
    if (target) this.viewer.goTo(target);
  }

  // --- keys ------------------------------------------------------------------------------------------------
  key(event) {
    if (event.key === "Escape" && this.viewer.classList.contains("log--full")) { this.full(); return; }
    if (!isSingleKey(event) || !KEYS[event.key]) return;
    event.preventDefault();
    this.acts[KEYS[event.key]]();
  }

  // Scrolling up means reading: stop following before the next bytes pull the view down again.
  leave() {
    if (this.viewer.rows.reach > 0) this.viewer.pause();
  }

  move(event) {
    const { viewer } = this;
    const step = { j: 1, k: -1 }[event.key];
    if (event.key === "Home") { event.preventDefault(); viewer.toStart(); }
    else if (event.key === "End") { event.preventDefault(); viewer.follow(); }
    else if (["PageUp", "ArrowUp"].includes(event.key)) this.leave();
    else if (step && isSingleKey(event)) {
      event.preventDefault();  // so that the frame's j and k leave the log alone
      if (step < 0) this.leave();
      viewer.box.scrollBy(0, step * viewer.rows.tall);
    }
  }

  // --- what the viewer tells -------------------------------------------------------------------------------
  followed() {
    const { following } = this.viewer;
    this.press("follow", following);
    this.part("follow-label").textContent = say(following ? "following" : "follow");
    this.status.show();
  }

  skipped(size) { this.status.tell(say("skipped", { size: bytes(size) })); }

  startedOver(why) {
    this.status.tell(why ? say(why) : "");
    this.status.show();
  }
}
