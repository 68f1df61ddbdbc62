// <metric-curves data-curves>: a drawing for each quantity, of one job or of several laid over each other. The table
// below says the same. Colours are the theme's; a dash tells jobs apart where colour does not.
import { say } from "./words.js";

const COLOURS = ["--b-accent", "--b-warn-line", "--b-ok-line", "--b-bad-line", "--b-out-line", "--b-wait-line"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const HEIGHT = 150;
const WHOLE = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((times) => times * 10 ** power));
const SHOWN = 4;  // drawings before "show all"
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const numbers = new Intl.NumberFormat(document.documentElement.lang || "en", { maximumSignificantDigits: 4 });

class MetricCurves extends HTMLElement {
  async connectedCallback() {
    this.plots = [];
    this.uPlot = (await import("../vendor/uplot.js")).default;  // most jobs have no curves
    if (!this.isConnected) return;
    this.jobs = JSON.parse(this.dataset.curves);
    this.names = [...new Set(this.jobs.flatMap(({ curves }) => curves.map(({ name }) => name)))];
    this.draw();
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this);
    this.theme = new MutationObserver(() => this.draw());
    this.theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-bs-theme"] });
  }

  disconnectedCallback() {
    this.sizes?.disconnect();
    this.theme?.disconnect();
    for (const { chart } of this.plots) chart.destroy();
  }

  draw() {
    for (const { chart } of this.plots) chart.destroy();
    this.replaceChildren();
    const shown = this.all ? this.names : this.names.slice(0, SHOWN);
    this.plots = shown.map((name) => this.plot(name));
    if (shown.length === this.names.length) return;
    const more = document.createElement("button");
    more.type = "button";
    more.className = "btn btn-quiet btn-small";
    more.textContent = say("curves_all", { n: this.names.length });
    more.addEventListener("click", () => { this.all = true; this.draw(); });
    this.append(more);
  }

  plot(name) {
    const lines = this.jobs.map((job) => ({ job, curve: job.curves.find((one) => one.name === name) }));
    const box = document.createElement("figure");
    const title = document.createElement("figcaption");
    title.textContent = name;
    title.translate = false;
    const value = document.createElement("output");
    title.append(value);
    const root = document.createElement("div");
    root.className = "plot";
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", say("curves_label", { name }));
    box.append(title, root);
    this.append(box);
    const at = (chart) => { value.textContent = this.said(lines, data, chart.cursor.idx); };
    const data = joined(lines.map(({ curve }) => curve?.points ?? []));
    const chart = new this.uPlot(options(root, lines, at), data, root);
    chart.over.addEventListener("click", () => open(lines, data[0][chart.cursor.idx]));
    at(chart);
    return { chart, root };
  }

  // Under the pointer, else the last of each.
  said(lines, data, idx) {
    return lines.map(({ job, curve }, line) => {
      const y = idx === null || idx === undefined ? curve?.last?.[1] : data[line + 1][idx];
      const who = lines.length > 1 ? `${job.job}: ` : "";
      return y === null || y === undefined ? "" : who + numbers.format(y);
    }).filter(Boolean).join(" · ");
  }

  fit() {
    for (const { chart, root } of this.plots) {
      if (root.clientWidth && root.clientWidth !== chart.width) chart.setSize({ width: root.clientWidth, height: HEIGHT });
    }
  }
}

// All steps of all jobs on one scale; where a job has none there is a gap that is drawn over.
function joined(all) {
  const steps = [...new Set(all.flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const place = new Map(steps.map((x, n) => [x, n]));
  return [steps, ...all.map((points) => {
    const column = new Array(steps.length).fill(null);
    for (const [x, y] of points) column[place.get(x)] = y;
    return column;
  })];
}

function options(root, lines, heard) {
  const axis = (more) => ({
    stroke: token("--b-text-2"), font: `11px ${token("--b-sans") || "sans-serif"}`,
    grid: { stroke: token("--b-line"), width: 1 }, ticks: { stroke: token("--b-line"), width: 1 }, ...more,
  });
  return {
    width: root.clientWidth || 400, height: HEIGHT, legend: { show: false },
    cursor: { points: { size: 5 }, drag: { x: false, y: false } },
    scales: { x: { time: false } },
    series: [{}, ...lines.map(({ curve }, n) => ({
      stroke: token(COLOURS[n % COLOURS.length]), width: 1.5, dash: DASHES[n % DASHES.length], spanGaps: true,
      points: { show: curve?.points.length === 1, size: 6 },  // a single one makes no line
    }))],
    axes: [axis({ size: 28, space: 60, ...(isWhole(lines) && { incrs: WHOLE }) }), axis({ size: 56, values: (_, ticks) => ticks.map((tick) => numbers.format(tick)) })],
    hooks: { setCursor: [heard] },
  };
}

// Steps are counted: there is none between two.
function isWhole(lines) {
  return lines.every(({ curve }) => (curve?.points ?? []).every(([x]) => Number.isInteger(x)));
}

// A click leads to the line of the output that says so.
function open(lines, x) {
  const [{ job, curve }] = lines;
  const point = curve?.points.find(([step]) => step === x);
  if (job.url && point) location.assign(`${job.url}#B${point[2]}`);
}

customElements.define("metric-curves", MetricCurves);
