// <live-region>: the one polite status region of a page; anything may announce a sentence through it.
class LiveRegion extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.setAttribute("aria-live", "polite");
    this.className = "visually-hidden";
  }
}
customElements.define("live-region", LiveRegion);

let clearing;

/** Have a screen reader say a sentence, once it is free. */
export function announce(sentence) {
  const region = document.querySelector("live-region");
  if (!region || !sentence) return;
  region.textContent = sentence;
  clearTimeout(clearing);
  clearing = setTimeout(() => { region.textContent = ""; }, 8000);  // so that the same sentence can be said again
}
