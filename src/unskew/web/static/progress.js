// The progress page: requests the status every few seconds and redraws the parts that changed.

import { ago } from "./ago.js";
import { call, denied, pause, sentence, trouble } from "./api.js";
import { chart, percent, shown } from "./chart.js";
import { advise, agreed, decides } from "./decide.js";
import { watchResults } from "./results.js";

const EVERY = 3000;
// What else is to be known about a damaged ledger.
const DAMAGED = "Answers are still taken and kept in the ledger, but no more rows are chosen. "
  + "Run “unskew verify” to look at all of it. Before you restore an earlier copy, stop the page "
  + "and keep a copy of the ledger as it is now: answers given since are only there.";
const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en");
const drawn = {};
let timer = 0;

// Redraws a part only if its data changed, so that focus and selection stay.
function part(name, data, redraw) {
  const now = JSON.stringify(data);
  if (drawn[name] !== now) {
    drawn[name] = now;
    redraw(data);
  }
}

function big(node, text, small = "") {
  const more = document.createElement("small");
  more.textContent = small;
  node.replaceChildren(text, small ? " " : "", more);
}

function tiles(s) {
  big($("spent"), count(s.spent), `of ${count(s.budget)}`);
  $("bar").max = s.budget;
  $("bar").value = s.spent;
  const skips = s.skipped ? `, ${count(s.skipped)} skipped` : "";
  $("spent-more").textContent = `${count(s.closed)} of ${count(s.rounds)} rounds closed${skips}`;
  const { name, measure, wanted, told, alone, rests_on: rests } = s.aim;
  const points = s.aim.points.filter((p) => p.rows === s.aim.rows), first = points[0], now = points.at(-1); // of the pool as it is
  const say = (value) => shown(value, measure);
  $("aim").textContent = name;
  if (now) big($("error"), say(now.value), `${say(now.low).replace(" %", "")} to ${say(now.high)}`);
  else big($("error"), "–");
  const from = (point) => point.labels ? `after ${count(point.labels)} labels` : "from the log alone";
  const goal = wanted ? `${+(100 * wanted).toFixed(2)} % wanted. ` : "";
  const grown = points.length < s.aim.points.length;
  $("error-more").textContent = !now ? (grown ? sentence(told) : "Available after the first randomly drawn label")
    : goal + (alone && (now.labels || rests !== "the log") ? `Rests on ${rests}` : points.length > 1 ? `${say(first.value)} ${from(first)}` : `Estimated ${from(now)}`);
  big($("held"), count(s.held));
  const next = { choosing: "the next rows are being chosen", done: "no row is left to label", others: "these are the last rows" };
  $("held-more").textContent = next[s.stand] && !s.waiting ? next[s.stand] : `${count(s.waiting)} more available`;
  const trouble = s.trouble ? `The next rows cannot be chosen: ${s.trouble}` : "";
  const damage = s.damage ? `${sentence(s.damage)} ${DAMAGED}` : "";
  alarm(damage || trouble);
}

// Shown above all numbers, and read out only if it is new.
function alarm(text) {
  const line = $("trouble").firstElementChild;
  $("trouble").hidden = !text;
  if (line.textContent !== text) line.textContent = text;
}

function cells(...texts) {
  const row = document.createElement("tr");
  for (const text of texts) row.insertCell().append(text);
  return row;
}

// Where cells are below each other, on a narrow screen, each says what it is.
function named(row, head) {
  [...head.rows[0].cells].slice(1).forEach((cell, k) => { row.cells[k + 1].dataset.label = cell.textContent; });
}

function aimed({ points, rows, measure, name, meaning, wanted, left_out: left }, budget) {
  $("chart-title").textContent = `${name}, by labels given`;
  const old = left ? ` Earlier estimates are not shown (${count(left)}): the ledger has only the error there.` : "";
  const line = wanted ? " The dotted line is what is wanted." : "";
  const grown = points.length && points[0].rows !== rows ? " The pool got new rows meanwhile: each point is about the rows of its time, and the line breaks where they came." : "";
  $("meaning").textContent = `${meaning}, with a 95 % interval, at the end of each round.${line}${grown}${old}`;
  $("chart-table").hidden = !points.length;
  if (points.length) $("chart").replaceChildren(chart(points, $("chart").clientWidth, name, measure, wanted, budget));
  else {
    const empty = document.createElement("p");
    empty.className = "empty";
    empty.textContent = "The curve starts after the first randomly drawn label.";
    $("chart").replaceChildren(empty);
  }
  $("chart-table").querySelector("tbody").replaceChildren(
    ...points.map((p) => cells(count(p.labels), ...[p.value, p.low, p.high].map((value) => shown(value, measure)))));
}

function words(sentences) {
  $("words").replaceChildren(...sentences.map((sentence) => {
    const told = document.createElement("p");
    told.textContent = sentence;
    return told;
  }));
}

function spots(list) {
  $("spots").hidden = !list.length;
  $("spots").querySelector("tbody").replaceChildren(...list.map((s) => {
    const row = cells(s.rule, percent(s.share), s.before.toFixed(1), s.now.toFixed(1));
    row.firstElementChild.className = "words";
    row.firstElementChild.dir = "auto";
    named(row, $("spots").querySelector("thead"));
    return row;
  }));
}

function people(list) {
  $("nobody").hidden = list.length > 0;
  $("people").hidden = !list.length;
  const classes = [...$("people").tHead.querySelectorAll("[data-class]")].map((cell) => cell.textContent);
  $("people").tBodies[0].replaceChildren(...list.map((p) => {
    const row = $("person").content.cloneNode(true).firstElementChild;
    const took = p.median_seconds === null ? "–" : p.median_seconds < 10 ? `${p.median_seconds.toFixed(1)} s` : `${count(Math.round(p.median_seconds))} s`;
    const texts = [p.name, count(p.labels), ...classes.map((name) => count(p.by_class[name] || 0)), count(p.skips), count(p.held), took,
      p.last_seen ? ago(p.last_seen) : "–"];
    texts.forEach((text, k) => { row.cells[k].textContent = text; });
    named(row, $("people").tHead);
    delete row.lastElementChild.dataset.label; // the button has its own name
    const [stop, button] = row.querySelectorAll("button");
    button.ariaLabel = `Revoke the link of ${p.name}`;
    if (p.invited) button.addEventListener("click", () => revoke(p.name));
    else button.remove();
    const barred = p.barred === "paused" || p.barred === "skips";
    stop.textContent = barred ? "Resume" : "Pause";
    stop.ariaLabel = `${stop.textContent} ${p.name}`;
    stop.addEventListener("click", () => person(barred ? "resume" : "pause", p.name));
    if (barred) {
      const mark = document.createElement("span");
      mark.className = "badge warn";
      mark.textContent = p.barred === "paused" ? "paused" : "skips everything";
      row.cells[0].append(" ", mark);
    }
    return row;
  }));
}

// More than two classes have a table of their own, with a line for each.
function byClass(list) {
  const table = $("by-class"), given = list.filter((p) => p.labels);
  if (!table) return;
  table.tHead.rows[0].replaceChildren(...["Class", "Labels", "", ...given.map((p) => p.name)].map((text, k) => {
    const cell = document.createElement(text ? "th" : "td");
    cell.textContent = text;
    if (!k) cell.className = "words";
    return cell;
  }));
  const of = (row) => given.map((p) => p.by_class[row.cells[0].textContent] || 0);
  const sum = (counts) => counts.reduce((a, b) => a + b, 0);
  const rows = [...table.tBodies[0].rows], most = Math.max(1, ...rows.map((row) => sum(of(row))));
  for (const row of rows) {
    const counts = of(row), bar = document.createElement("progress");
    bar.max = most;
    bar.value = sum(counts);
    bar.ariaHidden = "true";
    row.replaceChildren(row.cells[0], ...cells(count(sum(counts)), bar, ...counts.map(count)).cells);
  }
}

async function refresh() {
  clearTimeout(timer);
  let wait = EVERY;
  try {
    const s = await call("GET", "/api/status");
    $("progress").classList.remove("loading"); // first of all: the chart is as wide as its place
    const minute = Math.floor(Date.now() / 30_000); // so that "min ago" stays up to date
    part("tiles", s, tiles);
    part("advice", [s.advice, s.ended, s.budget, s.two_people.conflicts], () => advise(s));
    part("aim", [s.aim, $("chart").clientWidth, s.budget], ([aim]) => aimed(aim, s.budget));
    part("words", [...s.words, s.aim.decision, s.ahead].filter(Boolean), words);
    part("spots", s.blind_spots, spots);
    part("people", [s.people, minute], ([list]) => people(list));
    part("classes", s.people, byClass);
    part("two", [s.two_people, s.people], agreed);
    $("fresh").textContent = "Live";
  } catch (error) {
    $("fresh").textContent = denied(error) ? sentence(error.message)
      : `${error.lasting ? "Answers cannot be taken." : trouble(error)} Trying again.`;
    if (error.lasting) {
      alarm(sentence(error.message));
      delete drawn.tiles; // which take it away again
    }
    if (denied(error)) return;
    wait = pause(error, EVERY);
  }
  if (!document.hidden) timer = setTimeout(refresh, wait);
}

async function person(deed, name) {
  try {
    await call("POST", `/api/${deed}`, { name });
  } catch (error) {
    problem(error.message);
  }
  refresh();
}

async function revoke(name) {
  if (!confirm(`${name} will no longer be able to label. Their answers will be kept.`)) return;
  try {
    await call("DELETE", `/api/annotators/${encodeURIComponent(name)}`);
  } catch (error) {
    problem(error.message);
  }
  refresh();
}

function problem(text) {
  $("invite-problem").hidden = !text;
  $("invite-problem").textContent = text;
}

$("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  problem("");
  try {
    const invited = await call("POST", "/api/annotators", { name: $("name").value.trim() });
    $("invited-name").textContent = invited.name;
    $("invited-link").value = invited.link;
    $("invited").hidden = false;
    $("name").value = "";
    refresh();
  } catch (error) {
    problem(error.message);
  }
});
$("copy").addEventListener("click", async () => {
  $("invited-link").select();
  try {
    await navigator.clipboard.writeText($("invited-link").value);
    $("copy").textContent = "Copied";
    setTimeout(() => { $("copy").textContent = "Copy"; }, 1500);
  } catch { /* the link is selected, so it can be copied by hand */ }
});
decides(refresh);
watchResults(refresh);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
refresh();
