// <job-live data-ws>: the socket of a job carries hints only ("look again"); htmx then fetches the part that lives.
// Without a socket the page looks every five seconds. Once the job is over nothing is asked any more.
import { announce } from "./live-region.js";

const POLL = 5000;
const GROWS_OLD = 15_000;  // ms: without a hint too, the age of the picture is shown anew
const FIRST = 250;  // ms before it tries to connect again, half as much more each time in vain
const SLOWEST = 30_000;
const STEADY = 5_000;  // ms after which a connection counts as having been a good one
const GENTLE = 400;  // ms: several hints at once are one look

class JobLive extends HTMLElement {
  connectedCallback() {
    this.failures = 0;
    this.gone = new AbortController();
    const outside = { signal: this.gone.signal };
    this.addEventListener("htmx:afterSwap", () => this.swapped(), outside);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.look(); }, outside);
    addEventListener("online", () => { if (!this.socket) this.open(); }, outside);
    this.state = this.dataset.state;
    if (this.dataset.open === "yes") this.begin();
  }

  disconnectedCallback() {
    this.gone.abort();
    this.end();
  }

  begin() {
    this.timer = setInterval(() => {
      const quiet = Date.now() - (this.looked ?? 0);
      if (!document.hidden && quiet >= (this.listening ? GROWS_OLD : POLL)) this.look();
    }, POLL);
    this.open();
  }

  end() {
    clearInterval(this.timer);
    clearTimeout(this.retry);
    const { socket } = this;
    this.socket = null;
    this.over = true;
    socket?.close(1000);
  }

  get listening() { return this.socket?.readyState === WebSocket.OPEN; }

  open() {
    if (this.over || !this.dataset.ws) return;
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${this.dataset.ws}`);
    this.socket = socket;
    socket.onopen = () => {
      if (this.failures) this.look();  // something may have happened meanwhile
      this.opened = Date.now();
    };
    socket.onmessage = ({ data }) => { if (JSON.parse(data).type === "look") this.look(); };
    socket.onclose = ({ code }) => { if (socket === this.socket) this.lost(code); };
  }

  lost(code) {
    this.socket = null;
    if (code === 4403 || code === 4404) { this.end(); return; }
    if (Date.now() - (this.opened ?? Infinity) > STEADY) this.failures = 0;
    this.opened = null;
    this.failures += 1;
    this.retry = setTimeout(() => this.open(), Math.min(SLOWEST, FIRST * 1.5 ** this.failures) * (0.5 + Math.random()));
  }

  // A question that is open (cancel?) is not taken away under somebody's hand.
  look() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => {
      this.looked = Date.now();
      if (this.querySelector("details.confirm[open]")) { this.look(); return; }
      document.body.dispatchEvent(new CustomEvent("look"));
    }, GENTLE);
  }

  swapped() {
    const head = this.querySelector("[data-said]");
    if (!head) return;
    if (head.dataset.state !== this.state) announce(head.dataset.said);
    this.state = head.dataset.state;
    if (head.dataset.open === "yes") return;
    document.querySelector("log-viewer")?.setAttribute("data-over", "yes");
    this.end();
  }
}

customElements.define("job-live", JobLive);
