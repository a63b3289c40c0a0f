// The labelling page: the current row, the next one, and the answers being sent.

import { busy, call, denied, pause } from "./api.js";
import { Finder, showMore } from "./classes.js";
import { Outbox } from "./outbox.js";
import { draw, preload } from "./row.js";

const HOLD = 2; // the row on the page and the next one
const BLINK = 200; // milliseconds: an earlier answer was meant for the previous row
const POLL = { choosing: 700, others: 4000, done: 20_000 };
const MESSAGES = {
  fetching: ["Getting the next row", ""],
  undoing: ["Undoing", ""],
  choosing: ["Choosing the next rows", "The model is learning from the answers so far. This takes a moment."],
  others: ["Almost done", "Other people hold the last rows. If one becomes available, it appears here."],
  done: ["Thank you", "No row is left to label."],
};

const $ = (id) => document.getElementById(id);
const main = $("label");
const buttons = [...document.querySelectorAll(".actions button")];
const undoButton = buttons.find((b) => "undo" in b.dataset);
const skipButton = buttons.find((b) => "skip" in b.dataset);
const field = $("find"); // only where there are more classes than keys
const budget = Number(main.dataset.budget);
const count = (n) => n.toLocaleString("en");

let rows = []; // rows held and not answered; the first one is shown
let stand = "fetching";
let spent = 0; // the number of labels given by everyone
let undoing = false;
let shown = null;
let shownAt = 0;
let last = null; // the row that an undo takes back, according to the server
let answered = []; // rows answered since the page was opened, in order
let timer = 0, asking = false, askFailures = 0;

const outbox = new Outbox(`unskew ${main.dataset.campaign} ${main.dataset.person}`, {
  sent(item, reply) {
    if (item.undo) {
      undoing = false;
      answered = answered.filter((row) => row.id !== item.id);
      rows = [];
      take(reply);
    } else take(reply.work);
  },
  refused(item, error) {
    undoing = false;
    answered = answered.filter((row) => row.id !== item.id);
    notice(`Your answer was not accepted: ${error.message}`);
    ask();
  },
  waiting(error, seconds) {
    const kept = outbox.items.length === 1 ? "Your answer is" : `Your ${outbox.items.length} answers are`;
    notice(`${trouble(error)} ${kept} kept and will be sent again ${soon(seconds)}.`, true);
  },
  signedOut,
  through() {
    notice("");
  },
});

function signedOut() {
  const kept = outbox.items.length ? " Your answer is kept in this browser." : "";
  notice(`You are no longer signed in. Open your link again.${kept}`);
  undoing = false;
  stand = "fetching";
  rows = [];
  show();
  $("message-title").textContent = "Signed out";
  $("row").classList.remove("waiting");
}

// Takes over the rows that the annotator holds, according to the server. The row being read stays in place.
function take(work) {
  const given = work.rows.filter((row) => !outbox.holds(row.id));
  const reading = rows.length && rows[0] === shown ? rows[0] : null;
  rows = reading ? [reading, ...given.filter((row) => row.id !== reading.id)] : given;
  stand = rows.length ? "rows" : work.stand === "rows" ? "fetching" : work.stand;
  last = work.last;
  spent = budget - work.left.budget;
  $("left").textContent = `${count(work.left.budget)} of ${count(budget)} left`
    + (rows.length ? ` · ${work.left.round} in this round` : "");
  $("mine").textContent = `${count(work.left.mine)} by you`;
  $("bar").value = spent;
  show();
  if (rows[1]) preload(rows[1]);
  clearTimeout(timer);
  if (!rows.length) timer = setTimeout(ask, POLL[stand] || 1000);
}

async function ask() {
  clearTimeout(timer);
  if (asking || outbox.items.length) return; // the reply to an answer being sent brings rows with it
  asking = true;
  try {
    const work = await call("POST", "/api/ask", { n: HOLD });
    if (askFailures) notice("");
    askFailures = 0;
    asking = false;
    take(work);
  } catch (error) {
    asking = false;
    if (denied(error)) return signedOut();
    askFailures += 1;
    const wait = pause(error, Math.min(15_000, 500 * 2 ** askFailures));
    notice(`${trouble(error)} Trying again ${soon(Math.ceil(wait / 1000))}.`, true);
    timer = setTimeout(ask, wait);
  }
}

function show() {
  const row = undoing ? null : rows[0] || null;
  $("fields").hidden = !row;
  $("message").hidden = Boolean(row);
  for (const button of buttons) button.disabled = !row;
  if (field) $("classes").ariaDisabled = String(!row);
  undoButton.disabled = undoing || !(answered.length || last);
  if (row && row !== shown) {
    draw($("fields"), row);
    $("identity").textContent = `Row ${row.id} · round ${row.round}`;
    shownAt = performance.now();
    scrollTo({ top: 0 });
  }
  shown = row;
  if (!row) {
    const why = undoing ? "undoing" : stand === "rows" ? "fetching" : stand;
    const [title, said] = MESSAGES[why];
    const text = why === "done" ? `${said} ${count(spent)} of ${count(budget)} labels were given. You can close this page.` : said;
    if ($("message-title").textContent !== title) $("message-title").textContent = title;
    if ($("message-text").textContent !== text) $("message-text").textContent = text;
    $("row").classList.toggle("waiting", why !== "done" && why !== "others");
    $("identity").textContent = "\u00a0";
  }
}

// Says whether it was taken as the answer.
function answer(label) {
  if (!shown || performance.now() - shownAt < BLINK) return false;
  const row = rows.shift();
  answered.push(row);
  if (!rows.length) stand = "fetching";
  outbox.add({ id: row.id, label, ask: HOLD });
  show();
  return true;
}

function undo() {
  if (undoButton.disabled) return;
  const item = outbox.takeBack();
  if (item) {
    const at = answered.findLastIndex((row) => row.id === item.id);
    if (at >= 0) rows.unshift(...answered.splice(at, 1));
    show();
    return;
  }
  undoing = true;
  outbox.add({ undo: true, id: answered.at(-1)?.id ?? last, ask: HOLD });
  show();
}

const trouble = (error) => (busy(error) ? "The server is busy." : "No connection.");
const soon = (seconds) => (seconds <= 1 ? "in a moment" : `in ${seconds} seconds`);

function notice(text, again = false) {
  $("notice").hidden = !text;
  $("notice-text").textContent = text;
  $("retry").hidden = !again;
}

function act(button) {
  if (button.disabled) return;
  button.classList.add("pressed");
  setTimeout(() => button.classList.remove("pressed"), 150);
  if ("undo" in button.dataset) undo();
  else answer("skip" in button.dataset ? null : button.dataset.label);
}

// Beside the field, letters are typed and cannot be keys: Shift+Enter skips, and Ctrl+Z takes back if nothing is typed.
function keyBeside(event) {
  if (event.key === "Enter" && event.shiftKey) return skipButton;
  const undoes = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
  if (undoes && !field.value) return undoButton;
  if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey) field.focus(); // and it is typed there
  return null;
}

function keyOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  return buttons.find((b) => b.dataset.key === event.key.toLowerCase());
}

for (const button of buttons) button.addEventListener("click", () => act(button));
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.isComposing) return;
  const button = field ? keyBeside(event) : keyOf(event);
  if (button) {
    event.preventDefault();
    act(button);
  }
});
for (const box of document.querySelectorAll(".classes")) showMore(box);
if (field) new Finder(field, answer);
const hurry = () => (outbox.items.length ? outbox.hurry() : ask());
$("retry").addEventListener("click", hurry);
addEventListener("online", hurry);
document.addEventListener("visibilitychange", () => { if (!document.hidden && !rows.length) hurry(); });

show();
if (outbox.items.length) outbox.send(); // answers that an earlier visit could not send
else ask();
