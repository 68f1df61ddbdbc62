// Keyboard shortcuts of the frame. Single keys can be turned off (data-single-keys on the body), and do nothing while
// somebody writes in a field.
const GO = { h: "home", j: "jobs" };
let waitsForSecond = 0;

/** Whether single keys act for this event: turned on, no modifier, not while typing. */
export function isSingleKey(event) {
  if (document.body.dataset.singleKeys === "off") return false;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return false;
  const at = event.composedPath()[0];
  return !(at instanceof Element && at.closest("input, textarea, select, [contenteditable]"));
}

function go(name) {
  const link = document.querySelector(`[data-go="${name}"]`);
  if (link) location.assign(link.href);
  return Boolean(link);
}

// j and k walk through the rows of the page's lists, Enter opens (the focus is on the row's link).
function walk(step) {
  const links = [...document.querySelectorAll("[data-rows] .name[href]")];
  if (!links.length) return false;
  const at = links.indexOf(document.activeElement);
  const next = links[Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function act(key) {
  if (performance.now() < waitsForSecond && key in GO) return go(GO[key]);
  waitsForSecond = 0;
  switch (key) {
    case "g": waitsForSecond = performance.now() + 1500; return true;
    case "n": return go("submit");
    case "j": return walk(1);
    case "k": return walk(-1);
    case "/": return focusOn("[data-key='/']");
    case "?": document.getElementById("keys")?.showModal(); return true;
    default: return false;
  }
}

function focusOn(selector) {
  const field = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility?.() ?? true);
  field?.focus();
  return Boolean(field);
}

document.addEventListener("keydown", (event) => {
  if (isSingleKey(event) && act(event.key)) event.preventDefault();
});
