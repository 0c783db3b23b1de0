// Draws a value and its buttons as pixels only, and finds the button under a tap.
"use strict";

const canvas = document.getElementById("gauge");
const pen = canvas.getContext("2d");
const FONT = '"Liberation Sans", Arial, sans-serif';
const BUTTONS = [
  { label: "- 10", does: "down", x: 40, y: 780, width: 320, height: 130 },
  { label: "+ 10", does: "up", x: 400, y: 780, width: 320, height: 130 },
  { label: "Lock", does: "lock", x: 40, y: 940, width: 680, height: 130 },
];

function text(words, x, y, size, colour) {
  pen.fillStyle = colour;
  pen.font = `bold ${size}px ${FONT}`;
  pen.fillText(words, x, y);
}

function arc(from, to, colour) {
  pen.strokeStyle = colour;
  pen.beginPath();
  pen.arc(380, 400, 280, Math.PI * from, Math.PI * to);
  pen.stroke();
}

function draw({ value, locked }) {
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.lineWidth = 44;
  pen.lineCap = "round";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  arc(0.75, 2.25, "#e4eafc");
  arc(0.75, 0.75 + 1.5 * (value / 999), "#3457d5");
  text(String(value), 380, 390, 150, "#16181f");
  text("units", 380, 500, 44, "#5b6170");
  text(locked ? "Locked" : "Unlocked", 380, 690, 44, locked ? "#b3261e" : "#19734a");
  for (const button of BUTTONS) {
    pen.fillStyle = button.does === "lock" ? "#e4eafc" : "#3457d5";
    pen.beginPath();
    pen.roundRect(button.x, button.y, button.width, button.height, 60);
    pen.fill();
    const label = button.does === "lock" && locked ? "Unlock" : button.label;
    text(label, button.x + button.width / 2, button.y + button.height / 2, 52, button.does === "lock" ? "#3457d5" : "#fff");
  }
}

async function show(request) {
  const response = await request;
  draw(await response.json());
}

canvas.addEventListener("click", (event) => {
  const scale = canvas.width / canvas.clientWidth;
  const x = event.offsetX * scale;
  const y = event.offsetY * scale;
  const hit = BUTTONS.find((b) => x >= b.x && x <= b.x + b.width && y >= b.y && y <= b.y + b.height);
  if (hit) show(fetch(canvas.dataset.source, { method: "POST", body: new URLSearchParams({ do: hit.does }) }));
});

show(fetch(canvas.dataset.source));
