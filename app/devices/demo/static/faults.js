// Breaks its page on purpose.
"use strict";

document.getElementById("hang")?.addEventListener("click", () => {
  for (;;);
});

const alarming = document.getElementById("alert-on-load");
if (alarming) window.alert(alarming.dataset.text);
