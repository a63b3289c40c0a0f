// Answers once given: found by filters, looked at, changed and commented on.

import { ago } from "./ago.js";
import { Keys, call } from "./api.js";
import { $, comments, count, sends, told } from "./lines.js";
import { draw } from "./row.js";

const admin = Boolean($("history").dataset.admin), form = $("filters");
let answers = [], turn = 0;

const day = (name, days) => {
  if (!form.elements[name].value) return null;
  const at = new Date(`${form.elements[name].value}T00:00`);
  at.setDate(at.getDate() + days);
  return at.toISOString();
};

function query(after) {
  const found = new URLSearchParams({ search: form.elements.search.value, after });
  if (form.elements.label.value !== "*") found.set("label", form.elements.label.value);
  for (const name of ["by", "doubt"]) if (form.elements[name]?.value) found.set(name, form.elements[name].value);
  for (const [name, days] of [["since", 0], ["until", 1]]) if (day(name, days)) found.set(name, day(name, days));
  return found;
}

async function find(after = 0, changed = null) {
  const mine = ++turn;
  try {
    const found = await call("GET", `/api/answers?${query(after)}`);
    if (mine !== turn) return; // somebody typed on
    if (!after) $("answers").replaceChildren();
    answers = after ? [...answers, ...found.answers] : found.answers;
    $("answers").append(...found.answers.map(line));
    $("found").textContent = `${changed ? "Changed. " : ""}${count(found.found, "answer")}`;
    $("nothing").hidden = found.found > 0;
    const filtered = [...query(0)].some(([name, value]) => name === "label" || (name !== "after" && value));
    $("nothing").textContent = filtered ? "No answer fits what you look for." : "There are no answers yet.";
    $("more").hidden = answers.length >= found.found;
    if (admin) people(found.people);
    if (changed) reopen(changed);
  } catch (error) {
    $("found").textContent = told(error);
  }
}

// The list is new, and whoever changed an answer goes on where they were.
function reopen({ id, by }) {
  const node = $("answers").children[answers.findIndex((one) => one.id === id && one.by === by)];
  if (!node) return;
  node.querySelector("details").open = true;
  node.querySelector("summary").focus();
}

function people(names) {
  const select = form.elements.by, known = [...select.options].map((one) => one.value);
  for (const name of names) if (!known.includes(name)) select.add(new Option(name, name));
}

function marks(one) {
  const found = [];
  if (one.conflict) found.push(["people differ", "warn"]);
  else if (!one.counts) found.push([`${one.counted ?? "skipped"} counts`, ""]);
  if (one.settled) found.push(["settled", "good"]);
  if (!admin && !one.mine) found.push(["can no longer be changed", ""]);
  if (one.doubt !== null && one.doubt >= 0.5) found.push([`${Math.round(100 * one.doubt)} % likely wrong`, "warn"]);
  for (const [name, value] of Object.entries(one.remarks)) found.push([`${name}: ${value}`, ""]);
  if (one.comments.length) found.push([count(one.comments.length, "comment"), ""]);
  return found;
}

function line(one) {
  const node = $("line").content.cloneNode(true).firstElementChild, of = (name) => node.querySelector(name);
  const redraw = () => {
    of(".answer-is").textContent = one.label ?? "skipped";
    of(".answer-is").classList.toggle("accent", one.label !== null);
    of(".marks").replaceChildren(...marks(one).map(([text, kind]) => {
      const mark = document.createElement("span");
      mark.className = `badge ${kind}`;
      mark.textContent = text;
      return mark;
    }));
    comments(of(".comments"), one.comments);
  };
  of(".id").textContent = one.id;
  of(".who").textContent = admin ? `by ${one.by}` : "";
  of(".when").textContent = ago(one.at);
  redraw();
  of("details").addEventListener("toggle", () => { if (!of("dl").children.length) draw(of("dl"), one); });
  const change = of(".correct"), problem = of(".problem");
  change.hidden = !(one.mine || admin);
  change.elements.label.value = one.label ?? "";
  change.elements.reason.required = admin && !one.mine;
  sends(change, problem, "POST", "/api/correct",
    () => ({ id: one.id, label: change.elements.label.value || null, reason: change.elements.reason.value }),
    () => find(0, one));
  const note = of(".comment"), keys = new Keys();
  const written = (text) => ({ id: one.id, text, key: keys.of(text) });
  sends(note, problem, "POST", "/api/comment", () => written(note.elements.text.value), (made) => {
    keys.done();
    one.comments.push(made);
    note.reset();
    redraw();
  });
  return node;
}

let typing = 0;
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(find, 250);
});
form.addEventListener("submit", (event) => { event.preventDefault(); find(); });
$("more").addEventListener("click", () => find(answers.length));
find();
