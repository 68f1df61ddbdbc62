// One reading of all cards as a uPlot chart in the colours of the theme, and the legend all of them share.
import { say } from "./words.js";

const COLOURS = ["--b-accent", "--b-warn-line", "--b-ok-line", "--b-bad-line", "--b-out-line", "--b-wait-line", "--b-text-2", "--b-line-strong"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];  // colour never speaks alone
export const HEIGHT = 120;
const lang = document.documentElement.lang || "en";
const numbers = new Intl.NumberFormat(lang, { maximumFractionDigits: 1 });

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// MiB are shown as GB, what a job uses of CPUs and files with a decimal; the rest as it is.
export function shownAs(unit, value) {
  if (value === null) return "–";
  if (unit === "MiB") return value > 0 && value < 1000 ? `${numbers.format(Math.round(value))} MB` : `${numbers.format(value / 1024)} GB`;
  return `${numbers.format(["CPU", "MiB/s"].includes(unit) ? value : Math.round(value))} ${unit}`;
}

export function plot(uPlot, place, data, reading, sync, heard, alone = false) {
  const box = document.createElement("div");
  const title = document.createElement("h3");
  title.textContent = say(reading.name);
  const root = document.createElement("div");
  root.className = "plot";
  box.append(title, root);
  place.append(box);
  const chart = new uPlot(options(root, data, reading, sync, heard, alone), data.columns(reading.name), root);
  chart.over.addEventListener("click", () => heard.clicked(data.times[chart.cursor.idx]));
  return chart;
}

function options(root, data, reading, sync, heard, alone) {
  const many = data.cards.length;
  const last = alone || reading === data.readings.at(-1);  // charts under one another have their clock under the last
  const lines = data.cards.map((_, card) => series(card, 1.5));
  const lows = data.step > 1 ? data.cards.map((_, card) => series(card, 0)) : [];
  return {
    width: root.clientWidth || 600, height: last ? HEIGHT + 26 : HEIGHT, legend: { show: false },
    cursor: { sync: { key: sync.key }, points: { size: 5 }, y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, low, high) => range(reading.unit, high) } },
    series: [{}, ...lines, ...lows],
    bands: lows.map((_, card) => ({ series: [card + 1, card + 1 + many], fill: `${token(COLOURS[card % 8])}2e` })),
    axes: [axis({ space: 80, size: last ? 32 : 6, values: (_, ticks) => (last ? times(ticks) : []) }),
      axis({ size: reading.unit === "MiB/s" ? 76 : 58, incrs: steps(reading.unit), values: (_, ticks) => ticks.map((tick) => shownAs(reading.unit, tick)) })],
    hooks: { setCursor: [heard.moved] },
  };
}

function series(card, width) {
  return { stroke: token(COLOURS[card % 8]), width, dash: DASHES[Math.floor(card / 2) % 4], points: { show: false }, spanGaps: false };
}

function range(unit, high) {
  if (unit === "%") return [0, 100];
  return [0, Math.max(1, (high ?? 1) * 1.1)];
}

function axis(more) {
  const line = token("--b-line");
  return {
    stroke: token("--b-text-2"), font: `11px ${token("--b-sans") || "sans-serif"}`,
    grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, ...more,
  };
}

// GB come in round numbers, not MiB; less than that in MB.
function steps(unit) {
  return unit === "MiB" ? [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].map((gb) => gb * 1024)
    : [...unit === "%" || unit === "W" ? [] : [0.2, 0.5], 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 20_000];
}

// A moment in the site's time, as the rest of the page has it.
export function clock(seconds, precise = true) {
  const zone = document.querySelector("gpu-chart")?.dataset.zone;
  const form = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone, ...(precise ? { second: "2-digit" } : {}) };
  return new Date(seconds * 1000).toLocaleTimeString(lang, form);
}

function times(ticks) {
  const close = ticks.length > 1 && ticks[1] - ticks[0] < 60;
  return ticks.map((tick) => clock(tick, close));
}

const SVG = "http://www.w3.org/2000/svg";

export function legend(place, data, at, withReadings = true) {
  const when = at === null || at === undefined ? data.end : data.times[at];
  const time = document.createElement("span");
  time.textContent = clock(when);
  const several = new Set(data.cards.map(({ node }) => node)).size > 1;
  place.replaceChildren(time, ...data.cards.map(({ node, gpu }, card) => {
    const entry = document.createElement("span");
    const words = data.readings.map(({ name, unit }) => shownAs(unit, data.at(name, card, at)));
    const called = gpu ? say("gpu", { name: several ? `${node}:${gpu}` : gpu }) : say("node", { name: node });
    entry.append(mark(card), withReadings ? `${called}: ${words.join(" · ")}` : called);
    return entry;
  }));
}

function mark(card) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 8");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", "M0 4H20");
  line.setAttribute("stroke", token(COLOURS[card % 8]));
  line.setAttribute("stroke-width", "2");
  line.setAttribute("stroke-dasharray", DASHES[Math.floor(card / 2) % 4].join(" "));
  svg.append(line);
  return svg;
}
