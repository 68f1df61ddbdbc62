// Where the bytes come from: the socket while there is one, else asking again every second or two. Both resume at the
// viewer's own next byte, so nothing is missed and nothing comes twice.
// Events: bytes, at, skipped, generation, link, bye.

const JOIN = -65536;      // start that far from the end
const PIECE = 262144;     // bytes a request may bring
const FIRST = 250;        // ms before it tries to connect again, half as much more each time in vain
const SLOWEST = 30_000;   // but no more than that
const STEADY = 5_000;     // ms after which a connection counts as having been a good one
const POLL = 1500;        // ms between two questions

// A generation's name grows with the head of the file: one that begins with the other is the same writing.
const same = (one, other) => one == null || other == null || one.startsWith(other) || other.startsWith(one);
const wait = (ms) => new Promise((done) => { setTimeout(done, ms); });

export class LogSource extends EventTarget {
  /** `next()` is the viewer's next byte, or null before the first. */
  constructor({ socket, url, next }) {
    super();
    Object.assign(this, { socketPath: socket, url, next, failures: 0, over: false, generation: null });
    addEventListener("online", () => this.retryNow());
  }

  start(stream) {
    this.stop();
    this.stream = stream;
    this.over = false;
    this.turn = (this.turn ?? 0) + 1;  // an answer to an earlier start is not ours any more
    this.generation = null;
    if (this.socketPath && "WebSocket" in window) this.open(); else this.poll(this.turn);
  }

  stop() {
    this.over = true;
    clearTimeout(this.retry);
    this.socket?.close(1000);
    this.socket = null;
  }

  emit(name, detail = {}) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  // --- by socket -------------------------------------------------------------------------------------------
  open() {
    const socket = new WebSocket(this.socketPath.replace(/^\//, `${location.origin.replace(/^http/, "ws")}/`));
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    if (!this.polling) this.emit("link", { state: this.failures ? "reconnecting" : "connecting" });
    let at = null;
    socket.onopen = () => {
      this.opened = Date.now();
      const known = this.generation ? { generation: this.generation } : {};
      socket.send(JSON.stringify({ type: "watch", stream: this.stream, offset: this.next() ?? JOIN, ...known }));
    };
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return;
      if (typeof data === "string") at = this.told(JSON.parse(data), at);
      else if (at) this.emit("bytes", { offset: at.offset, bytes: new Uint8Array(data), line: at.line ?? null });
    };
    socket.onclose = ({ code }) => { if (socket === this.socket) this.lost(code); };
  }

  told(message, at) {
    switch (message.type) {
      case "at":
      case "state":
        this.note(message);
        return message.type === "at" ? message : at;
      case "skipped": this.emit("skipped", { from: message.from, to: message.to }); return at;
      case "generation": this.renew(message.generation); return null;
      case "bye": this.bye(message.reason); return at;
      default: return at;
    }
  }

  // What the source says about the file. A new generation is another file: the viewer starts at its first byte.
  note({ size, generation, state, age }) {
    if (!same(generation, this.generation)) this.renew(generation);
    if (generation) this.generation = generation;
    this.emit("link", { state: "live" });
    this.emit("at", { size, state, age });
  }

  renew(generation) {
    this.generation = generation;
    this.emit("generation", { generation });
  }

  bye(reason) {
    if (reason === "slow" || reason === "restart") return;  // the close that follows makes us come back
    this.stop();
    this.emit("bye", { reason });
  }

  lost(code) {
    this.socket = null;
    if (this.over) return;
    if (code === 4403 || code === 4404) { this.bye("refused"); return; }
    if (Date.now() - (this.opened ?? Infinity) > STEADY) this.failures = 0;
    this.opened = null;
    this.failures += 1;
    const delay = Math.min(SLOWEST, FIRST * 1.5 ** this.failures) * (0.5 + Math.random());
    this.retry = setTimeout(() => this.open(), delay);
    if (this.failures < 2) this.emit("link", { state: "reconnecting" });
    else if (!this.polling) this.poll(this.turn);
  }

  retryNow() {
    if (this.over || this.socket || !this.socketPath) return;
    clearTimeout(this.retry);
    this.open();
  }

  // --- by asking -------------------------------------------------------------------------------------------
  async poll(turn) {
    this.polling = true;
    while (!this.over && turn === this.turn && this.socket?.readyState !== WebSocket.OPEN) {
      const found = await this.ask(this.next() ?? JOIN).catch(() => null);
      if (this.over || turn !== this.turn) break;
      if (found?.refused) { this.bye("refused"); break; }
      this.emit("link", { state: found ? "polling" : "offline" });
      if (found) this.heard(found);
      if (!found || found.bytes.length < PIECE) await wait(POLL);
    }
    this.polling = false;
  }

  heard({ down, bytes, offset, size, generation, state, age, line }) {
    if (down) { this.emit("at", { size: null, state: "failed", age: null }); return; }
    if (!same(generation, this.generation)) { this.renew(generation); return; }
    if (generation) this.generation = generation;
    this.emit("at", { size, state, age });
    if (bytes.length) this.emit("bytes", { offset, bytes, line });
  }

  address(parameters) {
    return `${this.url}?${new URLSearchParams({ stream: this.stream, ...parameters })}`;
  }

  async ask(offset, limit = PIECE) {
    const headers = { "X-Bancada-Poll": "1" };  // following is no act of the person: it keeps no session alive
    const how = { cache: "no-store", redirect: "manual", headers };
    const answer = await fetch(this.address({ offset, limit, numbered: 1 }), how);
    if ([401, 403, 404].includes(answer.status) || answer.type === "opaqueredirect") return { refused: true };
    if (answer.status === 503) return { down: true, bytes: new Uint8Array(0) };
    if (!answer.ok) throw new Error(`the log answered ${answer.status}`);
    const told = (name) => answer.headers.get(`X-Log-${name}`);
    const number = (name) => (told(name) ? Number(told(name)) : null);
    return {
      bytes: new Uint8Array(await answer.arrayBuffer()), offset: number("Offset") ?? offset, size: number("Size"),
      generation: told("Generation"), state: told("State"), age: number("Age"), line: number("Line"),
    };
  }

  /** Some bytes of a range, for gaps and jumps; null where they cannot be had or belong to another generation. */
  async range(from, to) {
    const found = await this.ask(from, Math.min(PIECE, to - from)).catch(() => null);
    if (!found?.bytes?.length) return null;
    return same(found.generation, this.generation) ? found : null;
  }

  /** Matches in the whole file: {matches: [{line, offset}], count, capped}; null where the server cannot. */
  async find(query) {
    const answer = await fetch(`${this.url}/find?${new URLSearchParams({ stream: this.stream, q: query })}`)
      .catch(() => null);
    return answer?.ok ? answer.json() : null;
  }
}
