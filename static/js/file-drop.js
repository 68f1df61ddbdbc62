// <file-drop>: files and folders dropped or chosen go up in pieces; one that broke off goes on where it stood.
import { dropped } from "./dropped.js";
import { bytes, say } from "./words.js";

const TRIES = 6;
const PAUSE = 1000;  // ms before the first new try, twice as much each time
const CHECK = 2000;  // ms until it is asked again whether a large file is checked
const AGAIN = ["busy", "bad-ticket", "not-ready", "door-down", "429", "502", "503", "504"];  // a moment later it may go
const FIRST = 8 * 1024 * 1024;  // bytes of an upload's first piece, and the fewest
const [SWIFT, SLOW] = [2000, 8000];  // ms a piece takes for the next to be larger, or smaller

const hex = (buffer) => [...new Uint8Array(buffer)].map((one) => one.toString(16).padStart(2, "0")).join("");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** Bytes of the next piece: few large ones on a swift line, and little to lose where a slow one breaks. */
function nextStep(step, most, took) {
  if (took < SWIFT) return Math.min(2 * step, most);
  return took < SLOW ? step : Math.min(Math.max(step / 2, FIRST), most);
}

class Refusal extends Error {
  constructor(answer) { super(answer.said); this.answer = answer; }
}

class FileDrop extends HTMLElement {
  connectedCallback() {
    this.list = this.querySelector(".drop__list");
    this.form = this.querySelector(".drop__form");
    this.waiting = Promise.resolve();
    this.failed = this.stored = 0;
    for (const name of ["dragenter", "dragover"]) this.addEventListener(name, (event) => this.over(event));
    for (const name of ["dragleave", "drop"]) this.addEventListener(name, () => this.classList.remove("drop--over"));
    this.addEventListener("drop", (event) => this.dropped(event));
    this.form.addEventListener("submit", (event) => this.chosen(event));
  }

  over(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.classList.add("drop--over");
  }

  async dropped(event) {
    event.preventDefault();
    this.take(await dropped(event));
  }

  chosen(event) {
    const { files } = this.form.elements.files;
    if (!files.length) return;
    event.preventDefault();
    this.take([...files].map((file) => [file.name, file]));
  }

  take(found) {
    const overwrite = this.form.elements.overwrite.checked;
    for (const [name, file] of found) {
      const item = this.item(name, file);
      this.waiting = this.waiting.then(() => this.send(name, file, item, overwrite));
    }
    this.waiting = this.waiting.then(() => { if (this.stored && !this.failed) location.reload(); });
  }

  item(name, file) {
    const item = document.createElement("li");
    item.className = "drop__item";
    const label = Object.assign(document.createElement("span"), { className: "drop__name", textContent: name });
    const said = Object.assign(document.createElement("span"), { className: "drop__said", textContent: bytes(file.size) });
    const bar = Object.assign(document.createElement("progress"), { max: file.size || 1, value: 0 });
    bar.setAttribute("aria-label", name);
    item.append(label, said, bar);
    this.list.append(item);
    return { item, said, bar };
  }

  async send(name, file, shown, overwrite) {
    try {
      await this.whole(name, file, shown, overwrite);
      shown.bar.value = shown.bar.max;
      shown.said.textContent = say("stored");
      this.stored += 1;
    } catch (error) {
      this.failed += 1;
      shown.item.classList.add("drop__item--bad");
      shown.said.textContent = error instanceof Refusal ? error.message : say("broke_off");
      if (error instanceof Refusal && error.answer.word === "exists") this.offer(name, file, shown);
    }
  }

  offer(name, file, shown) {
    const button = Object.assign(document.createElement("button"), {
      type: "button", className: "btn btn-quiet btn-small", textContent: say("replace"),
    });
    button.addEventListener("click", () => {
      button.remove();
      this.failed -= 1;
      shown.item.classList.remove("drop__item--bad");
      this.waiting = this.waiting.then(() => this.send(name, file, shown, true))
        .then(() => { if (!this.failed) location.reload(); });
    });
    shown.said.append(" ", button);
  }

  async whole(name, file, shown, overwrite) {
    const path = `${this.dataset.path && `${this.dataset.path}/`}${encodeURIComponent(name)}`;
    const key = `upload ${this.dataset.code} ${path} ${file.size} ${file.lastModified}`;
    const asked = { path, size: file.size, ...(overwrite && { overwrite: "1" }) };
    const parents = name.includes("/") ? { parents: "1" } : {};
    const kept = sessionStorage.getItem(key);
    let at = await this.ask("begin", { ...asked, ...parents, ...(kept && { id: kept }) });
    const { id, piece } = at;
    sessionStorage.setItem(key, id);
    let step = Math.min(FIRST, piece);
    for (let tries = 0; at.offset < file.size;) {
      const { offset } = at;
      const part = await file.slice(offset, offset + step).arrayBuffer();
      const digest = await this.digest(part);
      const began = performance.now();
      try {
        at = await this.ask("piece", { path, id, offset, digest }, part);
        step = nextStep(step, piece, performance.now() - began);
        tries = 0;
      } catch (error) {
        step = Math.min(FIRST, piece);
        if (error instanceof Refusal && typeof error.answer.offset === "number") at = { offset: error.answer.offset };
        else if (error instanceof Refusal && ![...AGAIN, "digest"].includes(error.answer.word)) throw error;
        if ((tries += 1) > TRIES) throw error;
        await wait(PAUSE * 2 ** (tries - 1));
      }
      shown.bar.value = at.offset;
      shown.said.textContent = say("of", { done: bytes(at.offset), all: bytes(file.size) });
    }
    await this.finish({ ...asked, id }, shown);
    sessionStorage.removeItem(key);
  }

  /** The upload gets its name; a large file is read again before, and it is asked for until that is done. */
  async finish(asked, shown) {
    for (let tries = 0; ;) {
      try {
        const { checked, size } = await this.ask("finish", asked);
        if (checked === undefined) return;
        shown.said.textContent = say("checking", { done: bytes(checked), all: bytes(size) });
        tries = 0;
        await wait(CHECK);
      } catch (error) {
        if (error instanceof Refusal && !AGAIN.includes(error.answer.word)) throw error;
        if ((tries += 1) > TRIES) throw error;
        await wait(PAUSE * 2 ** (tries - 1));
      }
    }
  }

  /** SHA-256 of a piece; "" where the page is not secure and the browser computes none. */
  async digest(part) {
    return crypto.subtle ? hex(await crypto.subtle.digest("SHA-256", part)) : "";
  }

  async ask(act, fields, body = new ArrayBuffer(0)) {
    const { path, ...others } = fields;  // written out already: a folder's name may be bytes that are no text
    const answer = await fetch(`${this.dataset.base}/${act}?path=${path}&${new URLSearchParams(others)}`, {
      method: "POST", body, headers: { "X-CSRFToken": this.dataset.csrf, "Content-Type": "application/octet-stream" },
    });
    const type = answer.headers.get("Content-Type") ?? "";
    const said = type.includes("json") ? await answer.json() : {};
    if (!answer.ok) throw new Refusal({ word: String(answer.status), said: said.detail ?? say("broke_off"), ...said });
    return said;
  }
}

customElements.define("file-drop", FileDrop);
