"use strict";

/* Keys that stand for buttons, links and the comment. */
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const writing = event.target.matches("textarea, input");
  if (writing && event.key === "Escape") event.target.blur();
  if (writing) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!found) return;
  event.preventDefault();
  if (found.matches("textarea")) found.focus();
  else found.click();
});
