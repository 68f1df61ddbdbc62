// The lines of a growing file as far as they are known here. An ordered list of pieces covers [0, end) in bytes:
// chunks (their bytes may have been dropped, their row starts stay) and gaps (never seen here). Rows are counted over
// all pieces; a gap is one row. A line longer than a chunk goes on in the next row.

const CHUNK = 65536;
const NEWLINE = 10;
const decoder = new TextDecoder("utf-8", { fatal: false });

const isGap = (piece) => piece.starts === undefined;
const endsLine = (piece) => piece.bytes?.at(-1) === NEWLINE;
const rowsOf = (piece) => (isGap(piece) ? 1 : piece.starts.length);

function chunkOf(from, bytes) {
  const starts = bytes.length ? [0] : [];
  let newlines = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
    newlines += 1;
    if (at + 1 < bytes.length) starts.push(at + 1);
  }
  return { from, to: from + bytes.length, bytes, starts, newlines, line: null, anchor: null };
}

// Where to end a chunk of at most CHUNK bytes: after its last newline, else between two characters.
function cut(bytes) {
  if (bytes.length <= CHUNK) return bytes.length;
  const newline = bytes.lastIndexOf(NEWLINE, CHUNK - 1);
  if (newline > 0) return newline + 1;
  let at = CHUNK;
  while (at > CHUNK - 4 && (bytes[at] & 0xc0) === 0x80) at -= 1;
  return at;
}

function chunksOf(from, bytes) {
  const chunks = [];
  for (let at = 0; at < bytes.length;) {
    const length = cut(bytes.subarray(at));
    chunks.push(chunkOf(from + at, bytes.slice(at, at + length)));
    at += length;
  }
  return chunks;
}

function join(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

export class LogLines {
  constructor() { this.clear(); }

  /** Forget everything: the file is another one now. */
  clear() {
    this.pieces = [];
    this.firsts = [];  // the first row of each piece
    this.rows = 0;
    this.held = 0;     // bytes kept in memory
  }

  /** The byte after the last one known. */
  get end() { return this.pieces.at(-1)?.to ?? 0; }

  /** Whether the file is known here from its first byte. */
  get fromStart() { return this.pieces.length > 0 && !isGap(this.pieces[0]); }

  /** Whether no byte before `end` is missing here. */
  get whole() { return !this.pieces.some(isGap); }

  /** Bytes that follow, from the live end. Bytes known already are passed over, bytes missed become a gap. */
  append(offset, bytes, line = null) {
    if (offset < this.end) { bytes = bytes.subarray(this.end - offset); offset = Math.max(offset, this.end); }
    if (!bytes.length) return;
    if (offset > this.end) this.pieces.push({ from: this.end, to: offset });
    const last = this.pieces.at(-1);
    const grows = last && !isGap(last) && last.bytes && last.bytes.length < CHUNK;
    const fresh = chunksOf(grows ? last.from : offset, grows ? join(last.bytes, bytes) : bytes);
    fresh[0].anchor = grows ? last.anchor : line;
    if (grows) this.pieces.pop();
    this.pieces.push(...fresh);
    this.recount();
  }

  /** Bytes of a range asked for, into a gap or back into chunks that were dropped. */
  insert(offset, bytes, line = null) {
    const end = offset + bytes.length;
    for (const piece of [...this.pieces]) {
      if (piece.to <= offset || piece.from >= end) continue;
      if (isGap(piece)) this.fill(piece, offset, bytes, line);
      else if (!piece.bytes && piece.from >= offset && piece.to <= end) {
        piece.bytes = bytes.slice(piece.from - offset, piece.to - offset);
      }
    }
    this.recount();
  }

  // Replace a gap by what is now known of it; a line cut by the old border is made whole again.
  fill(gap, offset, bytes, line) {
    let from = Math.max(gap.from, offset);
    const to = Math.min(gap.to, offset + bytes.length);
    let known = bytes.subarray(from - offset, to - offset);
    const at = this.pieces.indexOf(gap);
    const before = this.pieces[at - 1];
    const after = this.pieces[at + 1];
    const fresh = [];
    if (from > gap.from) fresh.push({ from: gap.from, to: from });
    else if (before?.bytes && !endsLine(before)) {
      const tail = before.bytes.slice(before.starts.at(-1));
      known = join(tail, known);
      from -= tail.length;
      this.replace(before, chunksOf(before.from, before.bytes.subarray(0, before.starts.at(-1))));
    }
    if (to === gap.to && after?.bytes && known.at(-1) !== NEWLINE) {
      const head = after.starts.length > 1 ? after.starts[1] : after.bytes.length;
      known = join(known, after.bytes.subarray(0, head));
      this.replace(after, chunksOf(after.from + head, after.bytes.subarray(head)));
    }
    const chunks = chunksOf(from, known);
    if (from === offset && chunks.length) chunks[0].anchor = line;
    fresh.push(...chunks);
    if (to < gap.to) fresh.push({ from: to, to: gap.to });
    this.replace(gap, fresh);
  }

  /** The server's count: the piece that begins at this byte begins in this line. */
  anchor(offset, line) {
    const piece = this.pieces.find(({ from, starts }) => starts && from === offset);
    if (!piece) return;
    piece.anchor = line;
    this.recount();
  }

  replace(piece, others) {
    if (others.length && piece.anchor) others[0].anchor ??= others[0].from === piece.from ? piece.anchor : null;
    this.pieces.splice(this.pieces.indexOf(piece), 1, ...others);
  }

  // Row numbers of the pieces, and line numbers where the start of the file or the server's count reaches.
  recount() {
    let row = 0;
    let line = 1;
    this.held = 0;
    this.firsts = this.pieces.map((piece) => {
      const first = row;
      row += rowsOf(piece);
      this.held += piece.bytes?.length ?? 0;
      if (isGap(piece)) line = null;
      else {
        line ??= piece.anchor;
        piece.line = line;
        if (line !== null) line += piece.newlines;
      }
      return first;
    });
    this.rows = row;
    for (let i = this.pieces.length - 2; i >= 0; i -= 1) this.numberBackwards(this.pieces[i], this.pieces[i + 1]);
  }

  numberBackwards(piece, next) {
    if (isGap(piece) || isGap(next) || piece.line !== null || next.line === null) return;
    piece.line = next.line - piece.newlines;
  }

  // The piece that holds a row, by halving.
  find(row) {
    let low = 0;
    let high = this.firsts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.firsts[middle] <= row) low = middle; else high = middle - 1;
    }
    return low;
  }

  /** What is known of a row: {gap, from, to} or {from, to, text, number, goesOn}; text is null where it was dropped. */
  row(row) {
    const at = this.find(row);
    const piece = this.pieces[at];
    if (isGap(piece)) return { gap: true, from: piece.from, to: piece.to };
    const k = row - this.firsts[at];
    const start = piece.starts[k];
    const end = piece.starts[k + 1] ?? piece.to - piece.from;
    const goesOn = k === 0 && this.cutBefore(at);
    const number = piece.line === null ? null : piece.line + k;
    return { from: piece.from + start, to: piece.from + end, text: textOf(piece, start, end), number, goesOn };
  }

  // Whether the piece starts in the middle of a line.
  cutBefore(at) {
    const before = this.pieces[at - 1];
    if (!before || isGap(before)) return false;
    const next = this.pieces[at];
    return before.line !== null && next.line !== null
      ? before.line + before.starts.length > next.line
      : before.bytes !== null && !endsLine(before);
  }

  /** The row that holds a byte; the last row for a byte past the end. */
  rowAt(offset) {
    const at = this.pieces.findIndex((piece) => offset < piece.to);
    if (at === -1) return Math.max(0, this.rows - 1);
    const piece = this.pieces[at];
    if (isGap(piece)) return this.firsts[at];
    const within = offset - piece.from;
    let k = piece.starts.length - 1;
    while (k > 0 && piece.starts[k] > within) k -= 1;
    return this.firsts[at] + k;
  }

  /** The row of a line number, or -1 where that line is not known here. */
  rowOfLine(number) {
    const at = this.pieces.findIndex((piece) => !isGap(piece) && piece.line !== null  // the first that shows it
      && number >= piece.line && number < piece.line + piece.starts.length);
    if (at === -1) return -1;
    return this.firsts[at] + number - this.pieces[at].line;
  }

  /** How many lines the file has, where it is known from its start; else null. */
  get lines() {
    const last = this.pieces.at(-1);
    if (!last || isGap(last) || last.line === null) return null;
    return last.line + last.starts.length - 1;
  }

  /** Keep at most `cap` bytes: the chunks farthest from `row` go first; the live end stays. */
  shed(cap, row) {
    if (this.held <= cap) return;
    const here = this.find(row);
    const far = this.pieces.map((piece, at) => ({ piece, far: Math.abs(at - here) }))
      .filter(({ piece }) => piece.bytes && piece !== this.pieces.at(-1)).sort((a, b) => b.far - a.far);
    for (const { piece } of far) {
      if (this.held <= cap * 0.8) break;
      this.held -= piece.bytes.length;
      piece.bytes = null;
    }
  }

  /** The range to ask for so that a dropped or missing row can be shown. */
  rangeFor(row) {
    const { from, to } = this.pieces[this.find(row)];
    return { from, to };
  }
}

function textOf(piece, start, end) {
  if (!piece.bytes) return null;
  if (piece.bytes[end - 1] === NEWLINE) end -= 1;
  if (piece.bytes[end - 1] === 13) end -= 1;
  return decoder.decode(piece.bytes.subarray(start, Math.max(start, end)));
}
