// Results made on demand: report, audit, model and ledger; and files that are sent: rows to predict, new rows.

import { base, call, sentence } from "./api.js";

const EVERY = 1000;
const NAMES = { "report.html": "Open the report", "audit.html": "Open the audit", "model.zip": "Download the model",
  "ledger.parquet": "Download the ledger", "predictions.csv": "Download the predictions" };
const WORKING = { report: "Writing the report", audit: "Examining the log", export: "Fitting and packing the model",
  predictions: "Predicting", extension: "Reading the rows" };
const lines = new Map([...document.querySelectorAll("#results li")].map((node) => [node.dataset.what, node]));
const hints = new Map([...lines].map(([what, node]) => [what, node.querySelector(".state").textContent]));
let timer = 0, changed = () => {};

function say(what, text, wrong = false) {
  const state = lines.get(what).querySelector(".state");
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle("problem", wrong);
}

function show(one) {
  const node = lines.get(one.what), links = node.querySelector(".links");
  if (one.state === "running") {
    const far = one.total ? ` (${Math.floor((100 * one.done) / one.total)} %)` : "";
    say(one.what, `${WORKING[one.what]}${far} …`);
  } else if (one.state === "failed") say(one.what, sentence(one.problem), true);
  else say(one.what, one.what === "extension" && one.state === "done" ? "The rows were added." : "");
  links.replaceChildren(...one.files.map((file) => {
    const link = document.createElement("a");
    link.href = `${base}/results/${file}`;
    link.textContent = NAMES[file];
    if (file.endsWith(".html")) link.target = "_blank";
    return link;
  }));
}

async function look() {
  clearTimeout(timer);
  try {
    const all = await call("GET", "/api/results");
    all.forEach(show);
    if (all.some((one) => one.state === "running")) timer = setTimeout(look, EVERY);
    else changed();
  } catch { timer = setTimeout(look, 3 * EVERY); }
}

async function begin(what) {
  try {
    show(await call("POST", `/api/results/${what}`));
  } catch (error) {
    say(what, error.status ? sentence(error.message) : "No connection. Try again.", true);
  }
  look();
}

// A file is sent as it is, and its name beside it.
function send(what, file) {
  const request = new XMLHttpRequest();
  request.open("PUT", `${base}/api/${what}?name=${encodeURIComponent(file.name)}`);
  request.setRequestHeader("X-CSRF-Token", document.querySelector("meta[name=csrf]").content);
  request.upload.addEventListener("progress", (event) => say(what, `Sending ${Math.floor((100 * event.loaded) / event.total)} % …`));
  request.addEventListener("load", () => {
    if (request.status === 202) return look();
    let told = "That did not work. Try again.";
    try { told = sentence(JSON.parse(request.responseText).detail); } catch { /* not from our server */ }
    say(what, told, true);
  });
  request.addEventListener("error", () => say(what, "No connection. Send the file again.", true));
  request.send(file);
}

export function watchResults(whenChanged) {
  changed = whenChanged;
  for (const [what, node] of lines) {
    node.querySelector("button")?.addEventListener("click", () => begin(what));
    const input = node.querySelector("input");
    input?.addEventListener("change", () => {
      if (input.files.length) send(what, input.files[0]);
      else say(what, hints.get(what));
      input.value = "";
    });
  }
  look();
}
