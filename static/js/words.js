// Translated words and numbers for scripts: the page carries them as JSON (<script data-words>).
const lang = document.documentElement.lang || "en";
const plural = new Intl.PluralRules(lang);
const numbers = new Intl.NumberFormat(lang);
let words;

function load() {
  words = {};
  for (const tag of document.querySelectorAll("script[data-words]")) Object.assign(words, JSON.parse(tag.textContent));
}

/** The translated sentence for a key, with {name} filled in; `n` also chooses between {one, other}. */
export function say(key, values = {}) {
  if (!words) load();
  let text = words[key] ?? key;
  if (typeof text === "object") text = plural.select(values.n) === "one" ? text.one : text.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return typeof value === "number" ? numbers.format(value) : value ?? whole;
  });
}

/** Bytes as people say them: 812 B, 3.2 MB. */
export function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let step = 0;
  while (count >= 1000 && step < units.length - 1) { count /= 1000; step += 1; }
  const digits = step && count < 100 ? 1 : 0;
  return `${count.toLocaleString(lang, { maximumFractionDigits: digits })} ${units[step]}`;
}

/** Seconds gone by, in words: "3 s ago". */
export function ago(seconds) {
  const n = Math.max(0, Math.floor(seconds));
  if (n < 60) return say("ago_s", { n });
  if (n < 3600) return say("ago_min", { n: Math.floor(n / 60) });
  if (n < 86400) return say("ago_h", { n: Math.floor(n / 3600) });
  return say("ago_d", { n: Math.floor(n / 86400) });
}

/** Minutes as people say them: 45 min, 5 h 30 min, 2 d 4 h. */
export function minutes(count) {
  if (count < 60) return `${count} min`;
  const [big, small, bigUnit, smallUnit] = count < 2880
    ? [Math.floor(count / 60), count % 60, "h", "min"]
    : [Math.floor(count / 1440), Math.floor((count % 1440) / 60), "d", "h"];
  return small ? `${big} ${bigUnit} ${small} ${smallUnit}` : `${big} ${bigUnit}`;
}
