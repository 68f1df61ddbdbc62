// Menus are <details class="menu">: Escape, a click elsewhere or another menu closes them.
function close(menu, back) {
  menu.open = false;
  if (back) menu.querySelector("summary").focus();
}

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    const asked = event.target.closest("[data-closes-menu]");
    if (!menu.contains(event.target) || asked) close(menu, Boolean(asked));
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = document.querySelector("details.menu[open]");
  if (open) close(open, open.contains(document.activeElement));
});
