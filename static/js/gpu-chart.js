// <gpu-chart data-url data-live data-of>: what a job's GPUs (or nodes) did, its readings on one clock with one cross-hair
// through all charts of the run. While the job runs and the page is seen it asks every second for what is new. A click on
// a moment looks for the line of the output.
import uPlot from "../vendor/uplot.js";
import { GpuData } from "./gpu-data.js";
import { clock, legend, plot } from "./gpu-plot.js";
import { absent, titles, twin } from "./host-words.js";
import { say } from "./words.js";

const EVERY = 1000;  // ms between two questions while the job runs
const LATER = 5000;  // ms after which it asks again where the metrics did not answer

class GpuChart extends HTMLElement {
  connectedCallback() {
    this.parts = Object.fromEntries([...this.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
    this.live = this.dataset.live === "yes";
    this.span = this.live ? 600 : 0;
    this.gone = new AbortController();
    const outside = { signal: this.gone.signal };
    this.addEventListener("click", ({ target }) => this.pressed(target.closest("button[data-span]")), outside);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.ask(); }, outside);
    document.documentElement.addEventListener("themechange", () => this.draw(), outside);
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.parts.plots);
    this.begin();
  }

  disconnectedCallback() {
    this.gone.abort();
    this.sizes.disconnect();
    clearTimeout(this.timer);
    this.plots?.forEach((one) => one.destroy());
  }

  pressed(button) {
    if (!button) return;
    const { span } = button.dataset;
    for (const chart of document.querySelectorAll(`gpu-chart[data-start="${this.dataset.start}"]`)) chart.choose(span);
  }

  // All charts of a run show the same part of it.
  choose(span) {
    for (const other of this.querySelectorAll("button[data-span]")) other.setAttribute("aria-pressed", other.dataset.span === span);
    this.span = Number(span);
    this.begin();
  }

  get ofNodes() { return this.dataset.of === "nodes"; }

  begin() {
    this.data = new GpuData();
    this.drawn = "";
    this.ask();
  }

  // What is asked for: all of it at first, then what came since; by the portal's clock, whatever this machine's says.
  address() {
    const on = this.data.end && this.data.step === 1 ? this.data.end - 2 : this.span ? 0 : Number(this.dataset.start);
    const part = on ? `start=${on.toFixed(0)}` : `last=${this.span}`;
    return `${this.dataset.url}${this.dataset.url.includes("?") ? "&" : "?"}${part}&points=2000`;
  }

  async ask() {
    clearTimeout(this.timer);
    const { data } = this;
    let wait = LATER;
    try {
      const answer = await fetch(this.address(), { headers: { Accept: "application/json" }, signal: this.gone.signal });
      if (data !== this.data) return;
      if (answer.ok) wait = this.take(await answer.json());
      else if (answer.status < 500) return;
      else this.said(say("away"));
    } catch {
      if (this.gone.signal.aborted) return;
      this.said(say("away"));
    }
    if (this.live && !document.hidden) this.timer = setTimeout(() => this.ask(), wait);
  }

  take(answer) {
    if (answer.state !== "ok") {
      if (!this.data.end) this.said(say(answer.state === "away" ? "away" : this.ofNodes ? "no_hosts" : "none"));
      else if (answer.state === "away") this.said(say("away"));
      return LATER;
    }
    this.data.add(answer, this.span);
    if (this.ofNodes) absent(this.parts.absent, answer.missing);
    this.said(this.data.step > 1 ? say("step", { n: this.data.step }) : this.live ? say("live") : "");
    this.draw();
    return this.data.step > 1 ? LATER * 2 : EVERY;
  }

  draw() {
    if (!this.data.end) return;
    const shape = `${this.data.shape} ${document.documentElement.dataset.bsTheme}`;
    if (shape !== this.drawn) this.build(shape);
    else this.plots.forEach((one, place) => one.setData(this.data.columns(this.data.readings[place].name)));
    this.show();
  }

  build(shape) {
    this.plots?.forEach((one) => one.destroy());
    this.parts.plots.replaceChildren();
    const sync = uPlot.sync(`gpus-${this.dataset.start}`);
    const heard = { moved: () => this.show(), clicked: (at) => this.look(at) };
    this.plots = this.data.readings.map((reading) => plot(uPlot, this.parts.plots, this.data, reading, sync, heard, this.ofNodes));
    this.drawn = shape;
  }

  fit() {
    this.plots?.forEach((one) => one.setSize({ width: one.root.parentElement.clientWidth, height: one.height }));
  }

  // The legend says the readings under the cross-hair, else the last ones.
  show() {
    const place = this.plots?.[0]?.cursor.idx ?? null;
    legend(this.parts.legend, this.data, place, !this.ofNodes);
    if (!this.ofNodes) return;
    titles(this.parts.plots, this.data, place);
    twin(this.parts.twin, this.data);
  }

  said(text) { if (this.parts.said.textContent !== text) this.parts.said.textContent = text; }

  async look(at) {
    if (!this.dataset.moment || !at) return;
    const time = clock(at);
    const { moment } = this.parts;
    moment.hidden = false;
    moment.textContent = say("looking", { time });
    try {
      const found = await (await fetch(`${this.dataset.moment}?at=${Math.round(at)}`)).json();
      if (found.state !== "ok") { moment.textContent = say("no_line_then", { time }); return; }
      const link = document.createElement("a");
      link.href = `${this.dataset.output}#L${found.line}${found.offset > 65536 ? `@${found.offset}` : ""}`;
      link.textContent = say("line", { time: found.stamp, n: found.line });
      moment.replaceChildren(link);
    } catch { moment.textContent = say("no_line_then", { time }); }
  }
}

customElements.define("gpu-chart", GpuChart);
