// What every page loads: the small elements of the frame.
import "./copy.js";
import "./live-region.js";
import "./menus.js";
import "./refresh.js";
import "./shortcuts.js";
import "./time-ago.js";

// An error summary takes the focus, so that it is read and seen first.
document.querySelector("[data-takes-focus]")?.focus();

// A form is sent once: the second press of its button does nothing until the page changes.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "1";
});
// Back from the cache of the browser the form is new again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

document.addEventListener("click", (event) => { if (event.target.closest("[data-prints]")) print(); });
