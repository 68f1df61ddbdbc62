// The readings of a chart as columns by time; what comes later is joined by its seconds, never twice.
export class GpuData {
  constructor() {
    this.cards = [];
    this.readings = [];
    this.step = 0;
    this.times = [];
    this.values = new Map();  // reading -> one [low, high] of columns a card
  }

  get end() { return this.times.at(-1) ?? 0; }

  // What a drawing depends on beside the numbers.
  get shape() { return `${this.step} ${this.cards.map((card) => card.node + card.gpu).join()} ${this.readings.map(({ name }) => name).join()}`; }

  add(answer, span) {
    const same = this.step === answer.step && this.step === 1
      && this.cards.length === answer.cards.length && this.readings.length === answer.readings.length;
    if (!same) this.reset(answer);
    const from = same ? this.times.findIndex((time) => time >= answer.start) : 0;
    const kept = from < 0 ? this.times.length : from;
    this.times.length = kept;
    for (let i = 0; i < answer.steps; i += 1) this.times.push(answer.start + i * answer.step);
    for (const reading of answer.readings) this.join(reading, kept);
    if (span) this.forget(this.end - span);
  }

  reset(answer) {
    this.cards = answer.cards;
    this.step = answer.step;
    this.readings = answer.readings.map(({ name, unit }) => ({ name, unit }));
    this.times = [];
    this.values = new Map(answer.readings.map(({ name }) => [name, answer.cards.map(() => [[], []])]));
  }

  join({ name, bands }, kept) {
    for (const { card, low, high } of bands) {
      const columns = this.values.get(name)[card];
      columns[0].length = kept;
      columns[1].length = kept;
      columns[0].push(...low);
      columns[1].push(...(high ?? low));
    }
  }

  forget(before) {
    const gone = this.times.findIndex((time) => time >= before);
    if (gone <= 0) return;
    this.times.splice(0, gone);
    for (const cards of this.values.values()) for (const pair of cards) for (const column of pair) column.splice(0, gone);
  }

  // As uPlot wants them: times, then the highest of each card, then the lowest where steps are longer than a reading.
  columns(name) {
    const cards = this.values.get(name);
    const lows = this.step > 1 ? cards.map(([low]) => low) : [];
    return [this.times, ...cards.map(([, high]) => high), ...lows];
  }

  // The reading of a card at a place, or its last.
  at(name, card, place) {
    const column = this.values.get(name)?.[card]?.[1] ?? [];
    if (place !== null && place !== undefined) return column[place] ?? null;
    return column.findLast((value) => value !== null) ?? null;
  }
}
