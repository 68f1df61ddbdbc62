// Links to lines: #L120, #L120-L140, with @BYTE where the line lies far from the start, or #B81920 where only the byte
// is known. The byte is a hint that finds the line without reading the file up to it.

const NEAR = 65536;

/** {line, lastLine, from} of a hash, or null. */
export function parse(hash) {
  const lines = /^#L(\d+)(?:-L?(\d+))?(?:@(\d+))?$/.exec(hash);
  if (lines) {
    const [line, lastLine] = [Number(lines[1]), Number(lines[2] ?? lines[1])];
    return { line, lastLine, from: lines[3] ? Number(lines[3]) : null };
  }
  const byte = /^#B(\d+)$/.exec(hash);
  return byte ? { line: null, lastLine: null, from: Number(byte[1]) } : null;
}

/** The hash of a chosen range {line, lastLine, from}. */
export function format({ line, lastLine, from }) {
  if (line === null) return `#B${from}`;
  const range = lastLine > line ? `#L${line}-L${lastLine}` : `#L${line}`;
  return from > NEAR ? `${range}@${from}` : range;
}

/** A row chosen with the mouse, or the range from the earlier choice to it (shift). */
export function choose(known, earlier, extend) {
  const { number, from } = known;
  if (!extend || !earlier || earlier.line === null || number === null) return { line: number, lastLine: number, from };
  return number >= earlier.line
    ? { line: earlier.line, lastLine: number, from: earlier.from }
    : { line: number, lastLine: earlier.lastLine, from };
}

/** Whether a row belongs to the chosen range. */
export function holds(chosen, { number, from }) {
  if (!chosen) return false;
  if (chosen.line === null || number === null) return chosen.from === from;
  return number >= chosen.line && number <= chosen.lastLine;
}
