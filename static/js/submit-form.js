// The submit form: partition, then GPU type, then how many; the limits of the chosen partition beside the fields. What
// it costs and whether it can be sent the server says, while somebody fills in (htmx). Without this script the form
// works as it stands. A button may have the whole form drawn anew, so that it is looked up each time.
import { minutes, say } from "./words.js";

const form = () => document.getElementById("submit-form");
const limits = JSON.parse(document.getElementById("limits").textContent);
const field = (name) => form().elements[name];
const part = (name) => form().querySelector(`[data-part="${name}"]`);
const number = (name) => {
  const text = field(name)?.value.trim() ?? "";
  return /^\d+$/.test(text) ? Number(text) : null;
};
const NUMBERS = ["gpus", "nodes", "cpus", "memory_gb", "time_limit_minutes"];

const partition = () => limits[field("partition")?.value] ?? { gpu_types: {} };

/** GPU types that the partition has; the first one where the chosen one is not among them. */
function showTypes() {
  if (!part("types")) return;  // the preset says which
  const { gpu_types: types } = partition();
  const labels = [...part("types").querySelectorAll("[data-type]")];
  for (const label of labels) {
    const { type } = label.dataset;
    label.hidden = Boolean(type) && !(type in types);
    const note = label.querySelector("[data-part=type-note]");
    if (note && types[type]) note.textContent = say("per_node", { n: types[type].per_node });
  }
  const chosen = form().querySelector("[name=gpu_type]:checked");
  const wants = !chosen?.value && number("gpus") > 0;  // GPUs asked for, but not which
  if (!chosen || chosen.closest("[data-type]").hidden || wants) pickType(Object.keys(types)[0] ?? "");
}

function pickType(type) {
  for (const radio of form().querySelectorAll("[name=gpu_type]")) radio.checked = radio.value === type;
  matchCount();
}

// No GPU type means no GPU, and a GPU type at least one.
function matchCount() {
  const type = field("gpu_type").value;
  const gpus = field("gpus");
  if (gpus?.type === "hidden") return;
  if (!type) gpus.value = "0";
  else if (number("gpus") === 0) gpus.value = "1";
  gpus.readOnly = !type;
}

function mostOf(name) {
  const here = partition();
  const type = here.gpu_types[field("gpu_type")?.value];
  if (name === "gpus") return type ? type.per_node : 0;
  return here[name] ?? null;
}

function showLimits() {
  for (const name of NUMBERS) {
    const most = mostOf(name);
    const note = form().querySelector(`[data-limit="${name}"]`);
    if (!note) continue;
    const over = most !== null && number(name) > most;
    const text = name === "time_limit_minutes" ? timeNote(most) : most === null ? "" : say("at_most", { n: most });
    if (note.textContent !== text) note.textContent = text;
    note.classList.toggle("is-over", over);
  }
  for (const row of form().querySelectorAll("[data-partition]")) {
    row.toggleAttribute("aria-current", row.dataset.partition === field("partition")?.value);
  }
}

function timeNote(most) {
  const asked = number("time_limit_minutes");
  const said = asked ? `= ${minutes(asked)}` : "";
  return [said, most === null ? "" : say("at_most_time", { time: minutes(most) })].filter(Boolean).join(" · ");
}

// --- sent once ---------------------------------------------------------------------------------------------
document.addEventListener("submit", (event) => {
  if (event.target !== form() || event.submitter?.name === "act") return;
  for (const button of form().querySelectorAll("[type=submit]")) {
    button.setAttribute("aria-disabled", "true");
    if (button.dataset.busy) {
      button.dataset.idle = button.textContent;
      button.textContent = button.dataset.busy;
    }
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !form().contains(event.target)) return;
  event.preventDefault();
  form().requestSubmit();
});

function refresh(event) {
  if (event && !form().contains(event.target)) return;
  if (event?.target.name === "partition") showTypes();
  if (event?.target.name === "gpu_type") matchCount();
  showLimits();
}

document.addEventListener("input", refresh);
document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.dataset.fills) fill(target);
  else if (target.dataset.goesTo) location.assign(target.dataset.goesTo + encodeURIComponent(target.value));
  else if (target.name === "script_file" && target.files.length) bring(target);
  else refresh(event);
});

/** What is chosen beside a field is written into it. */
function fill({ dataset, value }) {
  const into = document.getElementById(dataset.fills);
  if (!value) return;
  into.value = value;
  into.dispatchEvent(new Event("input", { bubbles: true }));
}

// Enter in a picker's search looks no further than that; it sends no form.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !(event.ctrlKey || event.metaKey) && "picks" in event.target.dataset) event.preventDefault();
});

/** A script chosen as a file goes where one that was dropped goes. */
function bring(input) {
  const [file] = input.files;
  input.value = "";
  form().querySelector("script-editor").bring(file);
}

// the whole form was drawn anew
function drawn() {
  showTypes();
  refresh();
}

document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target.id === "submit-form") drawn(); });
document.addEventListener("form:drawn", drawn);
drawn();
