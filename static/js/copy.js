// Buttons with data-copy (a text) or data-copy-from (a selector) put that text on the clipboard and say so.
import { announce } from "./live-region.js";
import { say } from "./words.js";

/** Copy, and show on the button that it is done. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);  // no clipboard without https
  }
  announce(say("copied"));
  if (!button) return;
  button.classList.add("is-copied");
  setTimeout(() => button.classList.remove("is-copied"), 1500);
}

function copyBySelection(text) {
  const field = Object.assign(document.createElement("textarea"), { value: text, className: "visually-hidden" });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  const source = button.dataset.copyFrom && document.querySelector(button.dataset.copyFrom);
  copy(source ? source.value ?? source.textContent : button.dataset.copy, button);
});
