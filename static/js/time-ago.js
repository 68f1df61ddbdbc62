// <time-ago datetime="ISO">: the server writes the first text, this keeps it true. One timer for the whole page.
import { ago } from "./words.js";

const shown = new Set();
const OLD_SECONDS = 90;
let timer;

class TimeAgo extends HTMLElement {
  connectedCallback() {
    shown.add(this);
    timer ??= setInterval(tick, 1000);
  }
  disconnectedCallback() {
    shown.delete(this);
    if (shown.size) return;
    clearInterval(timer);
    timer = undefined;
  }
  update(now) {
    const seconds = (now - Date.parse(this.getAttribute("datetime"))) / 1000;
    const text = ago(seconds);
    if (this.textContent !== text) this.textContent = text;
    this.closest(".fresh")?.classList.toggle("fresh--old", seconds > OLD_SECONDS);
  }
}

function tick() {
  if (document.hidden) return;
  const now = Date.now();
  for (const one of shown) one.update(now);
}

customElements.define("time-ago", TimeAgo);
document.addEventListener("visibilitychange", tick);
