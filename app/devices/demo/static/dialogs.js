// The browser's own dialogs; what was answered is reported to the server.
"use strict";

const ASK = {
  alert: (text) => { window.alert(text); return "alert closed"; },
  confirm: (text) => (window.confirm(text) ? "confirmed" : "cancelled"),
  prompt: (text) => {
    const answer = window.prompt(text, "");
    return answer === null ? "prompt cancelled" : `text ${answer}`;
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-native]");
  if (!button) return;
  const result = ASK[button.dataset.native](button.dataset.text);
  const form = document.getElementById("report");
  form.elements.result.value = result;
  form.requestSubmit();
});
