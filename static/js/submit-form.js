// The submit form: partition, then GPU type, then how many; the limits of the chosen partition beside the fields; what
// it costs at most. The server judges in the end; without this script the form works as it stands.
import { minutes, say } from "./words.js";

const form = document.getElementById("submit-form");
const limits = JSON.parse(document.getElementById("limits").textContent);
const field = (name) => form.elements[name];
const part = (name) => form.querySelector(`[data-part="${name}"]`);
const number = (name) => {
  const text = field(name).value.trim();
  return /^\d+$/.test(text) ? Number(text) : null;
};
const NUMBERS = ["gpus", "nodes", "cpus", "memory_gb", "time_limit_minutes"];

const partition = () => limits[field("partition").value] ?? { gpu_types: {} };

/** GPU types that the partition has; the first one where the chosen one is not among them. */
function showTypes() {
  const { gpu_types: types } = partition();
  const labels = [...part("types").querySelectorAll("[data-type]")];
  for (const label of labels) {
    const { type } = label.dataset;
    label.hidden = Boolean(type) && !(type in types);
    const note = label.querySelector("[data-part=type-note]");
    if (note && types[type]) note.textContent = say("per_node", { n: types[type].per_node });
  }
  const chosen = form.querySelector("[name=gpu_type]:checked");
  const wants = !chosen?.value && number("gpus") > 0;  // GPUs asked for, but not which
  if (!chosen || chosen.closest("[data-type]").hidden || wants) pickType(Object.keys(types)[0] ?? "");
}

function pickType(type) {
  for (const radio of form.querySelectorAll("[name=gpu_type]")) radio.checked = radio.value === type;
  matchCount();
}

// No GPU type means no GPU, and a GPU type at least one.
function matchCount() {
  const type = field("gpu_type").value;
  const gpus = field("gpus");
  if (!type) gpus.value = "0";
  else if (number("gpus") === 0) gpus.value = "1";
  gpus.readOnly = !type;
}

function mostOf(name) {
  const here = partition();
  const type = here.gpu_types[field("gpu_type").value];
  if (name === "gpus") return type ? type.per_node : 0;
  return here[name] ?? null;
}

function showLimits() {
  for (const name of NUMBERS) {
    const most = mostOf(name);
    const note = form.querySelector(`[data-limit="${name}"]`);
    const over = most !== null && number(name) > most;
    const text = name === "time_limit_minutes" ? timeNote(most) : most === null ? "" : say("at_most", { n: most });
    if (note.textContent !== text) note.textContent = text;
    note.classList.toggle("is-over", over);
  }
  for (const row of form.querySelectorAll("[data-partition]")) {
    row.toggleAttribute("aria-current", row.dataset.partition === field("partition").value);
  }
}

function timeNote(most) {
  const asked = number("time_limit_minutes");
  const said = asked ? `= ${minutes(asked)}` : "";
  return [said, most === null ? "" : say("at_most_time", { time: minutes(most) })].filter(Boolean).join(" · ");
}

// --- what it costs -----------------------------------------------------------------------------------------
function showCost() {
  const [gpus, nodes, time] = ["gpus", "nodes", "time_limit_minutes"].map(number);
  const cost = gpus === null || nodes === null || time === null ? null : gpus * nodes * time;
  const hours = cost === null ? "–" : hoursOf(cost);
  part("cost").textContent = hours;
  part("cost-short").textContent = hours;
  part("sum").textContent = cost ? ` = ${say("gpus", { n: gpus * nodes })} × ${minutes(time)}` : "";
  showLeft(cost);
}

function hoursOf(gpuMinutes) {
  const hours = gpuMinutes / 60;
  return hours.toLocaleString(document.documentElement.lang, { maximumFractionDigits: hours < 100 ? 1 : 0 });
}

function showLeft(cost) {
  const { limitMinutes, usedMinutes, committedMinutes } = field("allocation").selectedOptions[0]?.dataset ?? {};
  const limit = Number(limitMinutes);
  if (!limit) { part("left-short").textContent = ""; return; }
  const free = limit - usedMinutes - committedMinutes;
  const after = free - (cost ?? 0);
  const text = after < 0 ? say("too_much", { free: hoursOf(free) }) : say("left", { left: hoursOf(after) });
  for (const name of ["left", "left-short"]) {
    part(name).textContent = text;
    part(name).classList.toggle("bad", after < 0);
  }
  drawBar(limit, [Number(usedMinutes), Number(committedMinutes), cost ?? 0]);
}

function drawBar(limit, parts) {
  let from = 0;
  for (const [i, kind] of ["used", "held", "this"].entries()) {
    const rect = part("bar").querySelector(`.${kind}`);
    const share = Math.min(100 - from, (100 * parts[i]) / limit);
    rect.setAttribute("x", `${from}%`);
    rect.setAttribute("width", `${share}%`);
    from += share;
  }
}

// --- sent once ---------------------------------------------------------------------------------------------
form.addEventListener("submit", () => {
  for (const button of form.querySelectorAll("[type=submit]")) {
    button.setAttribute("aria-disabled", "true");
    if (button.dataset.busy) button.textContent = button.dataset.busy;
  }
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
});

function refresh(event) {
  if (event?.target.name === "partition") showTypes();
  if (event?.target.name === "gpu_type") matchCount();
  showLimits();
  showCost();
}

form.addEventListener("input", refresh);
form.addEventListener("change", refresh);
document.querySelector("[data-goes-to]")?.addEventListener("change", ({ target }) => {
  location.assign(target.dataset.goesTo + encodeURIComponent(target.value));
});
showTypes();
refresh();
