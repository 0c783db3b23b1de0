/* What the pages need beyond htmx: local times, resuming the socket, arrow keys. */
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);

  // --- times: local, with the full stamp on hover; ages and durations go on counting ---

  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const pad = (n) => String(n).padStart(2, "0");

  function ageOf(seconds) {
    if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }

  function duration(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    const h = Math.floor(s / 3600);
    const rest = `${pad(Math.floor(s / 60) % 60)}:${pad(s % 60)}`;
    return h ? `${h}:${rest}` : rest;
  }

  function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  function showTimes() {
    const now = Date.now();
    for (const node of document.querySelectorAll("time[datetime]")) {
      const at = new Date(node.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const seconds = (now - at.getTime()) / 1000;
      if ("since" in node.dataset) setText(node, duration(seconds));
      else if ("age" in node.dataset) setText(node, ageOf(seconds));
      else if ("local" in node.dataset) setText(node, clock.format(at));
      else continue;
      node.title = full.format(at);
    }
  }

  // --- the socket: resume after the last number in the page, drop what was seen ---------

  const seen = () => Number(byId("seq")?.dataset.seq ?? 0);

  document.addEventListener("htmx:ws:before:connection", ({ detail }) => {
    const plain = new URL(detail.connection.url, location.href);
    // A tab that comes back reconnects without asking, so the address itself knows the number.
    Object.defineProperty(detail.connection, "url", {
      configurable: true,
      get() {
        plain.searchParams.set("after", String(seen()));
        return plain.href;
      },
    });
  });

  document.addEventListener("htmx:ws:before:message:incoming", (event) => {
    const found = /\bdata-seq="(\d+)"/.exec(String(event.detail.message.data));
    if (found && Number(found[1]) <= seen()) event.preventDefault();
  });

  function tell(state, text) {
    const place = byId("connection");
    if (!place) return;
    place.dataset.state = state;
    place.textContent = text;
  }

  document.addEventListener("htmx:ws:after:connection", () => tell("live", "● live"));
  document.addEventListener("htmx:ws:close", ({ detail }) => {
    if (detail.code === 1000) tell("idle", "");
    else if (detail.code === 1008) tell("lost", "△ not allowed; reload the page");
    else tell("lost", "△ connection lost, trying again");
  });

  // --- forms -----------------------------------------------------------------------------

  document.addEventListener("htmx:after:request", ({ target, detail }) => {
    const form = target instanceof Element ? target.closest("form[data-clear]") : null;
    if (form && detail.ctx?.response?.raw?.ok) form.reset();
  });

  document.addEventListener("submit", ({ target }) => {
    const label = target.dataset.busy && target.querySelector("button span");
    if (label) {
      label.textContent = target.dataset.busy;
      label.closest("button").setAttribute("aria-busy", "true");
    }
  });

  // --- arrow keys lead to the step before and after ----------------------------------------

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const link = { ArrowLeft: byId("previous"), ArrowRight: byId("next") }[event.key];
    if (link) link.click();
  });

  document.addEventListener("DOMContentLoaded", showTimes);
  document.addEventListener("htmx:after:swap", showTimes);
  setInterval(showTimes, 1000);
})();
