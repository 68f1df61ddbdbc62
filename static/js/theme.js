// Light or dark: what this browser was told, else what the person prefers, else what the system says.
// A classic script in the head, so that it runs before the first paint.
(() => {
  const root = document.documentElement;
  const KEY = "bancada.theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }  // storage may be forbidden
  };
  const apply = () => {
    root.dataset.bsTheme = kept() || root.dataset.themeChosen || (dark.matches ? "dark" : "light");
  };
  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const next = root.dataset.bsTheme === "dark" ? "light" : "dark";
    try { localStorage.setItem(KEY, next); } catch { /* the choice then lasts for this page */ }
    root.dataset.bsTheme = next;
  });
  // A preference saved on the server wins over what this browser was told before.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-forgets-theme]")) return;
    try { localStorage.removeItem(KEY); } catch { /* nothing was kept */ }
  });
})();
