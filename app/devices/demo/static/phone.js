// What every page of the demo phone needs: forms that stay on their page, dialogs, toasts, clocks.
"use strict";

const TOAST_MS = 2500;
let beats = [];

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.hasAttribute("data-inline")) return;
  event.preventDefault();
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const response = await fetch(form.action, { method: "POST", body });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const top = window.scrollY;
  document.title = page.title;
  document.documentElement.dataset.font = page.documentElement.dataset.font ?? "";
  document.body.replaceWith(document.adoptNode(page.body));
  window.scrollTo(0, top);
  wake();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const data = button.dataset;
  if (data.open) document.getElementById(data.open).showModal();
  if ("close" in data) button.closest("dialog").close();
  if (data.step) changeNumber(Number(data.step));
  if (data.reveal) document.getElementById(data.reveal).hidden = false;
  if (data.window) window.open(data.window, "_blank");
  if ("windowClose" in data) window.close();
});

// A page from the history cache would show what was true before later changes.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && !document.getElementById("rows")) location.reload();
});

function changeNumber(step) {
  const field = document.getElementById("quantity");
  field.value = String(Math.max(1, (parseInt(field.value, 10) || 0) + step));
}

function wake() {
  beats.forEach(clearInterval);
  beats = [];
  const toast = document.getElementById("toast");
  if (toast) setTimeout(() => toast.remove(), TOAST_MS);
  document.querySelector("dialog[data-modal]")?.showModal();
  runTimer(document.querySelector("[data-left]"));
  runStopwatch(document.querySelector("[data-elapsed]"));
  awaitReply();
  loadSlowly(document.querySelector("[data-load]"));
  growList();
}

function runTimer(face) {
  if (!face) return;
  const end = performance.now() + Number(face.dataset.left);
  const digits = face.lastElementChild;
  beats.push(setInterval(() => {
    const left = Math.ceil((end - performance.now()) / 1000);
    if (left <= 0) location.reload();
    else digits.textContent = spell(left);
  }, 200));
}

function spell(seconds) {
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return (hours ? `${hours}:${two(minutes)}` : `${minutes}`) + `:${two(seconds % 60)}`;
}

function runStopwatch(face) {
  if (!face) return;
  const start = performance.now() - Number(face.dataset.elapsed);
  const digits = face.lastElementChild;
  beats.push(setInterval(() => {
    const tenths = Math.floor((performance.now() - start) / 100);
    digits.textContent = `${spell(Math.floor(tenths / 10))}.${tenths % 10}`;
  }, 100));
}

function awaitReply() {
  const thread = document.getElementById("thread");
  if (thread) window.scrollTo(0, document.body.scrollHeight);
  const typing = thread?.querySelector("[data-due]");
  if (!typing) return;
  setTimeout(async () => {
    const response = await fetch(thread.dataset.source);
    thread.innerHTML = await response.text();
    awaitReply();
  }, Number(typing.dataset.due) + 50);
}

async function loadSlowly(place) {
  if (!place) return;
  const response = await fetch(place.dataset.load);
  place.innerHTML = await response.text();
}

// The list grows while it is scrolled; coming back from an item finds it as long as it was left.
function growList() {
  const list = document.getElementById("rows");
  if (!list) return;
  const key = `rows:${location.pathname}`;
  const left = JSON.parse(sessionStorage.getItem(key) ?? "null");
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) more();
  }, { rootMargin: "400px" });
  let loading = false;

  async function more() {
    const link = document.getElementById("more");
    if (!link || loading) return;
    loading = true;
    const response = await fetch(link.dataset.rows);
    watcher.unobserve(link);
    link.outerHTML = await response.text();
    loading = false;
    watch();
  }

  function watch() {
    const link = document.getElementById("more");
    if (link) watcher.observe(link);
  }

  async function restore() {
    while (left && list.children.length < left.length && document.getElementById("more")) await more();
    if (left) window.scrollTo(0, left.top);
    watch();
  }

  list.addEventListener("click", (event) => {
    if (event.target.closest("#more")) {
      event.preventDefault();
      more();
    } else {
      sessionStorage.setItem(key, JSON.stringify({ length: list.children.length, top: window.scrollY }));
    }
  });
  restore();
}

wake();
