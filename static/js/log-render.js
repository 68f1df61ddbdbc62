// A window onto very many rows of any height: only what is in sight is in the document.
// The scroll position is kept as a share p of the way: row p·R stands at height p·V of the viewport. That is exact for
// rows of equal height, works for wrapped ones, and for more rows than a browser can make an element tall.

const TALLEST = 8_000_000;  // px; Firefox stops near 17 million
const OVER = 6;             // rows drawn beyond the edges

export class LogRows {
  /** `draw(first, last)` gives the elements of rows [first, last); `count()` says how many rows there are. */
  constructor(box, { count, draw, moved }) {
    Object.assign(this, { box, count, draw, moved });
    const layer = (inside, className) => {
      const div = Object.assign(document.createElement("div"), { className });
      return inside.appendChild(div);
    };
    this.space = layer(box, "log__space");                        // as tall as all rows would be
    this.list = layer(layer(this.space, "log__pane"), "log__rows");  // stays in sight, holds the drawn ones
    this.p = 0;
    this.seen = 0;      // the scrollTop that belongs to p
    this.first = 0;
    this.tall = 0;      // measured height of a usual row, px
    this.average = 0;   // measured mean height of drawn rows, px
    box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.refresh()).observe(box);
  }

  // Somebody moved the scroll bar, as opposed to our own correction of it.
  scrolled() {
    const up = this.box.scrollTop - this.seen;
    if (Math.abs(up) < 1.5) return;
    this.p = this.reach ? Math.min(1, Math.max(0, this.box.scrollTop / this.reach)) : 0;
    this.seen = this.box.scrollTop;
    this.refresh();
    this.moved(up);
  }

  /** How far the box can scroll, px. */
  get reach() { return this.box.scrollHeight - this.box.clientHeight; }

  /** Whether the last row is in sight. */
  get atEnd() { return this.reach <= 0 || this.box.scrollTop >= this.reach - this.tall * 0.75; }

  /** Draw again at the next frame. */
  refresh() {
    this.asked ??= requestAnimationFrame(() => { this.asked = undefined; this.render(); });
  }

  render() {
    const view = this.box.clientHeight;
    const rows = this.count();
    if (!view) return;
    this.tall ||= this.measure();
    const anchor = Math.min(rows - 1, Math.floor(this.p * rows));
    const above = Math.ceil((this.p * view) / this.tall) + OVER;
    const below = Math.ceil(((1 - this.p) * view) / this.tall) + OVER;
    this.put(Math.max(0, anchor - above), Math.min(rows, anchor + below + 1));
    this.fit(rows, view);
    this.list.style.transform = `translateY(${this.shift(anchor, rows, view)}px)`;
  }

  // Where the list stands so that row p·R is at p·V.
  shift(anchor, rows, view) {
    const all = this.first === 0 && this.list.childElementCount === rows;
    const row = this.list.children[anchor - this.first];
    const list = this.list.getBoundingClientRect();
    if (!row || (all && list.height <= view)) return 0;
    const { top, height } = row.getBoundingClientRect();  // to a fraction of a pixel, unlike offsetTop
    return this.p * view - (top - list.top + (this.p * rows - anchor) * height);
  }

  put(first, last) {
    this.first = first;
    const wanted = this.draw(first, last);
    const have = this.list.children;
    for (let i = 0; i < wanted.length; i += 1) {
      if (have[i] !== wanted[i]) this.list.insertBefore(wanted[i], have[i] ?? null);
    }
    while (have.length > wanted.length) this.list.lastChild.remove();
  }

  // The height of the scrolled space follows the rows; p stays, so the scroll bar is set anew.
  fit(rows, view) {
    const drawn = this.list.childElementCount;
    const mean = drawn ? this.list.getBoundingClientRect().height / drawn : this.tall;
    const all = drawn === rows;
    if (all || Math.abs(mean - this.average) > this.average * 0.08) this.average = mean;
    const height = Math.max(view, Math.min(TALLEST, Math.ceil(rows * this.average)));
    if (this.height !== height) this.space.style.height = `${(this.height = height)}px`;
    const width = Math.max(this.box.clientWidth, this.list.scrollWidth);
    if (width > (this.width ?? 0)) this.space.style.minWidth = `${(this.width = width)}px`;
    const top = this.p * Math.max(0, height - view);
    if (Math.abs(this.box.scrollTop - top) >= 1) this.box.scrollTop = top;
    this.seen = this.box.scrollTop;
  }

  measure() {
    const height = parseFloat(getComputedStyle(this.box).lineHeight);
    this.average ||= height;
    return height;
  }

  /** Forget widths and heights: the rows are laid out in another way now. */
  relayout() {
    this.space.style.minWidth = "";
    this.width = this.average = this.tall = 0;
    this.tall = this.measure();
    this.refresh();
  }

  /** To the end, and stay there while rows are added (call it again after each addition). */
  toEnd() {
    this.p = 1;
    this.refresh();
  }

  /** The first row of text in sight and how far below the upper edge it begins, px (negative: partly hidden). */
  top() {
    const edge = this.box.getBoundingClientRect().top;
    const rows = [...this.list.children];
    const inSight = (row) => row.getBoundingClientRect().bottom > edge + 1 && !row.matches(".log__gap");
    const at = rows.findIndex(inSight);
    return at === -1 ? { row: 0, y: 0 } : { row: this.first + at, y: rows[at].getBoundingClientRect().top - edge };
  }

  /** Show `row` with its upper edge at height y of the viewport. */
  place(row, y) {
    const view = this.box.clientHeight;
    const rows = this.count();
    this.tall ||= this.measure();
    this.put(row, Math.min(rows, row + Math.ceil(view / this.tall) + OVER));
    this.p = this.solve(row, y, rows, view);
    this.render();
  }

  // Find p: walk down from `row` to where the line from (0, 0) to (R, V) crosses the rows' heights.
  solve(row, y, rows, view) {
    let top = y;
    if ((row / rows) * view < top) return Math.max(0, Math.min(1, (y - row * this.tall) / (view - rows * this.tall)));
    for (const [k, element] of [...this.list.children].entries()) {
      const { height } = element.getBoundingClientRect();
      const start = ((row + k) / rows) * view - top;
      const end = ((row + k + 1) / rows) * view - (top + height);
      if (end <= 0) return (row + k + (start === end ? 0 : start / (start - end))) / rows;
      top += height;
    }
    return 1;
  }
}
