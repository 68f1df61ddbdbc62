// <attach-files>: files that go with a job, dropped or chosen. They stay in the form's own file field, so that the form
// is sent as any form is; beside that their paths (a folder's files keep theirs), what there is too much of, how far the
// sending is, and that a form drawn anew (by a button, or with what is wrong) has them still.
import { dropped } from "./dropped.js";
import { bytes, say } from "./words.js";

const KEPT = new Map();  // path -> File: outlives the element, which goes with each new drawing of the form

class AttachFiles extends HTMLElement {
  connectedCallback() {
    this.input = this.querySelector("[name=attach]");
    this.paths = this.querySelector("[name=attach_paths]");
    this.list = this.querySelector(".drop__list");
    for (const name of ["dragenter", "dragover"]) this.addEventListener(name, (event) => this.over(event));
    for (const name of ["dragleave", "drop"]) this.addEventListener(name, () => this.classList.remove("drop--over"));
    this.addEventListener("drop", (event) => this.drop(event));
    this.input.addEventListener("change", () => this.take([...this.input.files].map((file) => [file.name, file])));
    this.list.addEventListener("click", (event) => this.leave(event));
    if (KEPT.size) this.show();
  }

  over(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.classList.add("drop--over");
  }

  async drop(event) {
    event.preventDefault();
    this.take(await dropped(event));
  }

  take(found) {
    for (const [path, file] of found) KEPT.set(path, file);
    this.changed();
  }

  leave(event) {
    const path = event.target.closest("button")?.dataset.path;
    if (path === undefined) return;
    KEPT.delete(path);
    this.changed();
    (this.list.querySelector("button") ?? this.input).focus();
  }

  get tooMuch() {
    const total = [...KEPT.values()].reduce((sum, file) => sum + file.size, 0);
    return KEPT.size > Number(this.dataset.files) || total > Number(this.dataset.bytes);
  }

  show() {
    const files = new DataTransfer();
    for (const file of KEPT.values()) files.items.add(file);
    this.input.files = files.files;
    this.paths.value = KEPT.size ? JSON.stringify([...KEPT.keys()]) : "";
    this.list.replaceChildren(...[...KEPT].map(([path, file]) => line(path, file)));
  }

  /** The list changed: what was said of the old one is not said of this one. */
  changed() {
    this.show();
    this.say(this.tooMuch ? this.dataset.tooMuch : "");
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  say(text) {
    this.querySelector("[data-part=attach-said]").replaceChildren(...(text ? [wrong(text)] : []));
  }

  /** Send the form and show how far it is; an answer that is a page of its own is gone to, the form again is shown. */
  send(form) {
    const asked = new XMLHttpRequest();
    const bar = Object.assign(document.createElement("progress"), { max: 1, value: 0 });
    const item = Object.assign(document.createElement("li"), { className: "drop__item" });
    bar.setAttribute("aria-label", say("sending"));
    item.append(bar);
    this.list.prepend(item);
    asked.upload.addEventListener("progress", ({ loaded, total }) => { bar.max = total; bar.value = loaded; });
    asked.addEventListener("load", () => { if (!answered(asked)) this.failed(form); });
    asked.addEventListener("error", () => this.failed(form));
    asked.open("POST", form.action);
    asked.send(new FormData(form));
  }

  failed(form) {
    this.show();
    this.say(say("not_sent"));
    delete form.dataset.sending;
    for (const button of form.querySelectorAll("[type=submit]")) {
      button.removeAttribute("aria-disabled");
      if (button.dataset.idle) button.textContent = button.dataset.idle;
    }
  }
}

function line(path, file) {
  const item = Object.assign(document.createElement("li"), { className: "drop__item drop__item--line" });
  const name = Object.assign(document.createElement("bdi"), { className: "drop__name", textContent: path });
  const size = Object.assign(document.createElement("span"), { className: "drop__said", textContent: bytes(file.size) });
  const button = Object.assign(document.createElement("button"), {
    type: "button", className: "btn btn-bare btn-small", textContent: say("leave_out"),
  });
  button.dataset.path = path;
  button.setAttribute("aria-label", `${say("leave_out")}: ${path}`);
  item.append(name, size, button);
  return item;
}

function wrong(text) {
  return Object.assign(document.createElement("p"), { className: "field__error", id: "id_attach_error", textContent: text });
}

/** Go where the answer leads, or show the form with what is wrong; false where the answer is neither. */
function answered(asked) {
  const page = new DOMParser().parseFromString(asked.responseText, "text/html");
  const form = page.getElementById("submit-form");
  if (!form) {
    if (asked.status < 400) location.assign(asked.responseURL);
    return asked.status < 400;
  }
  const banner = page.querySelector("main [data-takes-focus]");
  document.querySelector("main [data-takes-focus]")?.remove();
  const before = document.getElementById("submit-form");
  htmx.trigger(before, "htmx:abort");  // a look still under way knows nothing of what is wrong, and would take it away
  before.replaceWith(form);
  if (banner) form.before(banner);
  htmx.process(form);
  document.dispatchEvent(new CustomEvent("form:drawn"));
  banner?.focus();
  return true;
}

// Looks while somebody fills in carry no file: what is announced is enough.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.path.includes("/jobs/new")) detail.formData.delete("attach");
});

// Before what says "Submitting…" on the buttons: with too much nothing is sent.
document.addEventListener("submit", (event) => {
  const form = event.target;
  const here = form.querySelector("attach-files");
  if (form.id !== "submit-form" || !here || !KEPT.size || event.submitter?.name === "act") return;
  event.preventDefault();
  if (here.tooMuch || form.dataset.sending) event.stopPropagation();
  if (here.tooMuch) here.input.focus();
  else if (!form.dataset.sending) { form.dataset.sending = "yes"; here.send(form); }
}, true);

customElements.define("attach-files", AttachFiles);
