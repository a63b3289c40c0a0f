// The labelling page: the current row, the next one, and the answers being sent.

import { call, denied, limited, pause, sentence, trouble } from "./api.js";
import { Bar } from "./bar.js";
import { Finder, showMore } from "./classes.js";
import { Outbox } from "./outbox.js";
import { watchNote } from "./note.js";
import { draw, highlight, preload } from "./row.js";

const HOLD = 2; // the row on the page and the next one
const LINGER = 4000; // milliseconds for which a refusal stays at least, so that it can be read
const BLINK = 200; // milliseconds: an earlier answer was meant for the previous row
const POLL = { choosing: 700, others: 4000, done: 20_000, ended: 20_000, paused: 5000, skips: 5000 };
const MESSAGES = {
  fetching: ["Getting the next row", ""],
  undoing: ["Undoing", ""],
  choosing: ["Choosing the next rows", "The model is learning from the answers so far. This takes a moment."],
  others: ["Almost done", "Other people hold the last rows. If one becomes available, it appears here."],
  done: ["Thank you", "No row is left to label."],
  ended: ["Thank you", "The campaign has ended."],
  paused: ["You are paused", "Whoever runs the campaign has stopped giving you rows for now. When that changes, the next row appears here."],
  skips: ["No more rows for now", "You skipped many rows, one after the other. Whoever runs the campaign can see this. Ask them how to go on."],
};

const WAITING = { fetching: 1, undoing: 1, choosing: 1 };

const $ = (id) => document.getElementById(id);
const main = $("label");
const buttons = [...document.querySelectorAll(".actions button")];
const undoButton = buttons.find((b) => "undo" in b.dataset);
const skipButton = buttons.find((b) => "skip" in b.dataset);
const bar = new Bar(document.querySelector(".actions"), $("shortcuts"));
const field = $("find"); // only where there are more classes than keys
const count = (n) => n.toLocaleString("en");

let rows = []; // rows held and not answered; the first one is shown
let stand = "fetching";
let spent = 0; // the number of labels given by everyone
let budget = Number(main.dataset.budget); // it may change
let undoing = false;
let closed = ""; // why the annotator is signed out, if so
let refusedAt = 0; // when the refusal on the page was shown; 0 if there is none
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
    if (refusedAt && item.at > refusedAt) setTimeout(forgetRefusal, refusedAt + LINGER - Date.now(), refusedAt);
  },
  refused(item, error) {
    undoing = false;
    if (!limited(error)) answered = answered.filter((row) => row.id !== item.id); // else it can be taken back later
    notice(`${item.undo ? "Nothing was taken back" : "Your answer was not accepted"}: ${error.message}`);
    refusedAt = Date.now();
    show();
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

function signedOut(error) {
  const unsent = outbox.items.length, kept = unsent === 1 ? "Your last answer is" : `Your last ${unsent} answers are`;
  closed = sentence(error.message) + (unsent ? ` ${kept} kept in this browser until you are signed in again.` : "");
  notice("");
  undoing = false;
  rows = [];
  show();
}

// A refusal goes once a later answer was accepted.
function forgetRefusal(shownAt) {
  if (refusedAt === shownAt) notice("");
}

// Takes over the rows that the annotator holds, according to the server. The row being read stays in place.
function take(work) {
  closed = "";
  const given = work.rows.filter((row) => !outbox.holds(row.id));
  const reading = rows.length && rows[0] === shown ? rows[0] : null;
  rows = reading ? [reading, ...given.filter((row) => row.id !== reading.id)] : given;
  stand = rows.length ? "rows" : work.stand === "rows" ? "fetching" : work.stand;
  last = work.last;
  budget = work.left.total;
  spent = budget - work.left.budget;
  $("bar").max = budget;
  $("left").textContent = `${count(work.left.budget)} of ${count(budget)} left`
    + (rows.length && work.left.round ? ` · ${work.left.round} in this round` : "");
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
    if (denied(error)) return signedOut(error);
    askFailures += 1;
    const wait = pause(error, Math.min(15_000, 500 * 2 ** askFailures));
    notice(`${trouble(error)} Trying again ${soon(Math.ceil(wait / 1000))}.`, true);
    timer = setTimeout(ask, wait);
  }
}

function show() {
  const row = undoing ? null : rows[0] || null;
  main.classList.toggle("opening", !row && !closed && stand === "fetching" && !answered.length); // nothing came yet
  $("fields").hidden = !row;
  $("message").hidden = Boolean(row);
  $("note").hidden = !row;
  for (const button of buttons) disable(button, !row); // not `disabled`, which would take the focus away
  if (field) $("classes").ariaDisabled = String(!row);
  disable(undoButton, closed || undoing || !(answered.length || last));
  if (row && row !== shown) {
    draw($("fields"), row);
    const id = document.createElement("bdi");
    id.textContent = row.id;
    $("identity").replaceChildren("Row ", id, ` · round ${row.round}`);
    say(`Row ${row.id}. ${$("left").textContent.split(" · ")[0]}.`);
    shownAt = performance.now();
    scrollTo({ top: 0 });
  }
  shown = row;
  if (!row) {
    const why = closed ? "closed" : undoing ? "undoing" : stand === "rows" ? "fetching" : stand;
    const [title, said] = closed ? ["Signed out", closed] : MESSAGES[why];
    const text = why === "done" ? `${said} ${count(spent)} of ${count(budget)} labels were given. You can close this page.` : said;
    if ($("message-title").textContent !== title) $("message-title").textContent = title;
    if ($("message-text").textContent !== text) $("message-text").textContent = text;
    $("row").classList.toggle("waiting", why in WAITING);
    $("identity").textContent = "\u00a0";
    say(`${title}. ${text}`);
  }
}

const disable = (button, off) => button.setAttribute("aria-disabled", String(Boolean(off)));
const disabled = (button) => button.ariaDisabled === "true";

// What a screen reader says: short, and only if it is new. The row itself is long, and read when somebody wants to.
function say(text) {
  if ($("said").textContent !== text) $("said").textContent = text;
}

// Says whether it was taken as the answer.
function answer(label) {
  if (!shown || performance.now() - shownAt < BLINK) return false;
  const row = rows.shift();
  answered.push(row);
  if (!rows.length) stand = "fetching";
  leaveNote();
  outbox.add({ id: row.id, label, ask: HOLD, at: Date.now() });
  show();
  return true;
}

function undo() {
  if (disabled(undoButton)) return;
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

const soon = (seconds) => (seconds <= 1 ? "in a moment" : `in ${seconds} seconds`);

function notice(text, again = false) {
  refusedAt = 0;
  if (!again && document.activeElement === $("retry")) buttons[0].focus(); // its button goes
  $("notice").hidden = !text;
  $("notice-text").textContent = text;
  $("retry").hidden = !again;
}

function act(button) {
  if (disabled(button)) return;
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
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=text], textarea")) return null;
  return buttons.find((b) => b.dataset.key === event.key.toLowerCase());
}

for (const button of buttons) button.addEventListener("click", () => act(button));
document.addEventListener("keydown", (event) => {
  if (!bar.keys || event.repeat || event.isComposing || event.target.closest("#note, #guide")) return; // keys are typed there
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

highlight(JSON.parse(main.dataset.highlight));
const leaveNote = watchNote(() => shown?.id, (text) => {
  notice(text);
  refusedAt = Date.now();
  setTimeout(forgetRefusal, LINGER, refusedAt);
});
show();
if (outbox.items.length) outbox.send(); // answers that an earlier visit could not send
else ask();
