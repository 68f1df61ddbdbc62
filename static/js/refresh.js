// Parts with data-refresh="SECONDS" are asked for again that often while the page is in sight (hx-trigger="refresh").
const since = new WeakMap();

function tick() {
  if (document.hidden) return;
  const now = performance.now();
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const due = (since.get(part) ?? since.set(part, now).get(part)) + Number(part.dataset.refresh) * 1000;
    if (now < due || part.contains(document.activeElement) || part.querySelector("input:checked")) continue;  // not under somebody's hands
    since.set(part, now);
    part.dispatchEvent(new CustomEvent("refresh"));
  }
}

// What the page asks by itself is no act of the person and must not keep their session alive.
document.addEventListener("htmx:configRequest", (event) => {
  if (["refresh", "look"].includes(event.detail.triggeringEvent?.type)) event.detail.headers["X-Bancada-Poll"] = "1";
});

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
