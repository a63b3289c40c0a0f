// The steps from two tables to a campaign. Slow work runs on the server; this page asks how far it is.

import { base, busy, call, denied, pause } from "./api.js";
import { given } from "./fields.js";
import { chosen, drawColumns, unusable } from "./start_columns.js";
import { listFiles, uploading, watchUploads } from "./start_tables.js";

const $ = (id) => document.getElementById(id);
const main = $("start"), path = `/api/drafts/${main.dataset.draft}`;
const STEPS = ["tables", "columns", "audit", "begin"];
const EVERY = 500;
let draft = null, step = "tables", timer = 0, pending = null, sending = false;

// The name of a file, at the beginning, stays as it is.
const sentence = (text) => (/^\S*[./]\S/.test(text) ? text : text && text[0].toUpperCase() + text.slice(1));

function problem(text, where = step) {
  const node = $(where).querySelector("p.problem[role=alert]");
  node.textContent = sentence(text);
  node.hidden = !text;
}

function show(next, focus = true) {
  step = next;
  for (const name of STEPS) $(name).hidden = name !== step;
  for (const item of document.querySelectorAll(".steps li")) {
    const place = STEPS.indexOf(item.dataset.step) - STEPS.indexOf(step);
    item.classList.toggle("past", place < 0);
    if (place) item.removeAttribute("aria-current");
    else item.setAttribute("aria-current", "step");
  }
  if (focus) {
    $(`${step}-title`).focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }
}

// Everything that can be pressed waits while the server is at work or files come in.
function hold() {
  const job = draft.job, running = Boolean(job && job.state === "running");
  $("work").hidden = !running;
  main.classList.toggle("busy", running);
  for (const button of main.querySelectorAll(".buttons button")) button.disabled = running || uploading();
  $("columns").querySelector("[data-next]").disabled ||= !draft.columns || Boolean(draft.columns.problem);
  if (!running) return;
  const share = job.total ? ` ${Math.floor((100 * job.done) / job.total)} %` : "";
  if ($("work-words").textContent !== job.words + share) $("work-words").textContent = job.words + share;
  if (job.total && job.done < job.total) $("work-bar").value = job.done / job.total;
  else $("work-bar").removeAttribute("value");
}

function draw() {
  listFiles(draft);
  if (draft.columns) drawColumns(draft);
  $("audited").hidden = !draft.audited;
  const two = Object.keys(draft.columns?.classes || {}).length === 2;
  $("more-begin").hidden = !two;
  hold();
}

// The work that was running has ended.
function finished(job) {
  const failed = job.state === "failed" ? job.problem : "";
  if (job.what === "understand") {
    if (job.state === "done") {
      if (step === "tables") show("columns");
      problem(unusable(draft), "columns");
    } else problem(failed);
    if (pending) understand(pending);
  } else if (job.what === "audit") {
    problem(failed, "audit");
    if (draft.audited) $("audit-page").src = $("audit-link").href;
  } else if (draft.begun && !draft.note) location.assign(`${base}${draft.begun}/progress`);
  else problem(draft.begun ? `The campaign has begun. ${draft.note}` : failed, "begin");
}

async function poll() {
  clearTimeout(timer);
  try {
    const before = draft?.job?.state;
    draft = await call("GET", path);
    if (draft.job?.state === "running") {
      hold();
      timer = setTimeout(poll, EVERY);
    } else {
      draw();
      if (before === "running") finished(draft.job);
    }
  } catch (error) {
    if (denied(error) || error.status === 404) return problem(error.status === 404 ? error.message : "You are signed out. Open your link again.");
    if (!busy(error)) problem("No connection. Trying again.");
    timer = setTimeout(poll, pause(error, 2000));
  }
}

// One request that begins work; then its progress is followed.
async function work(method, where, body) {
  problem("");
  sending = true;
  try {
    draft = await call(method, path + where, body).finally(() => { sending = false; });
    if (draft.job?.state === "running") hold(); // what was chosen meanwhile stays
    else draw();
    if (draft.job?.state === "running") timer = setTimeout(poll, EVERY);
    else if (method === "POST") finished(draft.job); // it was quick
    return true;
  } catch (error) {
    problem(error.message);
    return false;
  }
}

// Something that is changed while the tables are read is looked at afterwards.
function understand(choices) {
  const waits = sending || draft.job?.state === "running";
  pending = waits ? choices : null;
  return waits || work("POST", "/understand", choices);
}

async function examine() {
  show("audit");
  if (!draft.audited) await work("POST", "/audit");
  else if (!$("audit-page").src) $("audit-page").src = $("audit-link").href;
}

$("tables-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const log = $("log-path").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!await work("PUT", "/paths", { name: $("name").value, log, pool: $("pool-path").value })) return;
  if (draft.columns) show("columns");
  else await understand({ guess: true });
});

$("begin-form").addEventListener("submit", (event) => {
  event.preventDefault();
  work("POST", "/begin", given(event.target));
});

$("columns").addEventListener("change", () => understand(chosen(draft)));
$("columns").querySelector("[data-next]").addEventListener("click", examine);
for (const button of main.querySelectorAll("[data-to]")) {
  button.addEventListener("click", () => (button.dataset.to === "audit" ? examine() : show(button.dataset.to)));
}
$("cancel").addEventListener("click", async () => {
  $("cancel").disabled = true;
  await call("DELETE", `${path}/job`).catch(() => null);
  $("cancel").disabled = false;
  poll();
});
$("discard").addEventListener("click", async () => {
  if (!confirm("Discard what was prepared, and remove the uploaded files?")) return;
  await call("DELETE", path).catch(() => null);
  location.assign(`${base}/`);
});

await poll();
watchUploads(path, Number(main.dataset.largest), {
  changed: (now) => { draft = now; draw(); },
  held: hold,
  problem: (text) => problem(text, "tables"),
});
if (draft) {
  $("log-path").value = draft.log_paths.join("\n");
  $("pool-path").value = draft.pool_path;
  if (draft.columns) {
    show("columns", false);
    problem(unusable(draft));
  } else show("tables", false);
}
