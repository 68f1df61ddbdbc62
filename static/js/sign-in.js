// Sign-in: the password can be shown, the error takes the focus. Nothing else: password managers do the rest.
for (const button of document.querySelectorAll("[data-shows]")) {
  const field = document.getElementById(button.dataset.shows);
  button.hidden = false;
  button.addEventListener("click", () => {
    const shown = field.type === "text";
    field.type = shown ? "password" : "text";
    button.setAttribute("aria-pressed", String(!shown));
  });
}
document.querySelector("[data-takes-focus]")?.focus();
