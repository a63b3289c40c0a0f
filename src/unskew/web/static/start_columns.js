// The columns as they were understood: what each holds, what it is for, and what was chosen instead.

import { given } from "./fields.js";

const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en");
const KINDS = $("start").dataset.kinds.split(" ");

// Redraws only what changed, so that focus stays where it is.
function options(select, list) {
  const now = JSON.stringify(list);
  if (select.dataset.drawn === now) return;
  select.dataset.drawn = now;
  select.replaceChildren(...list.map(([value, text, selected]) => new Option(text, value, selected, selected)));
}

function roles({ columns: found, choices }) {
  const inLog = found.columns.filter((c) => c.missing !== null), inPool = found.columns.filter((c) => c.pool_missing !== null);
  const list = (columns, role, none) => [["", none, !found[role]], ...columns.map((c) => [c.name, c.name, found[role] === c.name])];
  for (const select of $("columns").querySelectorAll("select[name]")) {
    const { of: table, none } = select.dataset;
    if (table) options(select, list(table === "log" ? inLog : inPool, select.name, none));
    else select.value = choices[select.name];
  }
  const classes = Object.keys(found.classes);
  $("positive-choice").hidden = classes.length !== 2;
  options($("positive"), classes.length === 2 ? [...classes].sort().map((name) => [name, `${name} (${count(found.classes[name])} labels)`, name === classes[1]]) : []);
}

function typeOf(column) {
  const box = document.createElement("div"), select = document.createElement("select"), [word, order] = column.kind.split(/:(.*)/s);
  box.className = "type";
  select.id = `type-${column.name}`;
  select.dataset.column = column.name;
  select.ariaLabel = `Type of ${column.name}`;
  options(select, [...(column.given ? [["", "as it seems", false]] : []), ...KINDS.map((kind) => [kind, kind, kind === word])]);
  box.append(select);
  if (word === "ordinal") {
    const input = document.createElement("input");
    Object.assign(input, { value: order || "", placeholder: "low, medium, high", ariaLabel: `Order of ${column.name}, the lowest first` });
    input.dataset.order = column.name;
    box.append(input);
  }
  return box;
}

function cell(row, heading, content, kind = "td") {
  const made = document.createElement(kind);
  made.dataset.heading = heading;
  made.append(content);
  row.append(made);
  return made;
}

const missing = (n, of) => (n === null ? "no such column" : n ? `${count(n)} of ${count(of)}` : "none");

function line(column, found) {
  const row = document.createElement("tr");
  const head = cell(row, "Column", column.name, "th");
  head.scope = "row";
  head.dir = "auto";
  const special = column.role && column.role !== "policy";
  cell(row, "Type", special ? { label: "the label", id: "the id", propensity: "the propensity" }[column.role] : typeOf(column));
  cell(row, "Missing in the log", missing(column.missing, found.log_seen));
  cell(row, "Missing in the pool", missing(column.pool_missing, found.pool_seen));
  const values = document.createElement("span");
  values.textContent = column.examples.join(", ") || "–";
  values.dir = "auto";
  const such = cell(row, "Such as", values);
  such.className = "such";
  const note = column.problem || (column.left_out && `Not learned from: ${column.left_out}.`);
  if (note) {
    const told = document.createElement("p");
    told.className = column.problem ? "problem" : "hint";
    told.textContent = note;
    such.append(told);
  }
  return row;
}

export function drawColumns(draft) {
  const found = draft.columns, seen = found.log_seen < found.log_rows || found.pool_seen < found.pool_rows;
  roles(draft);
  $("sizes").textContent = `The log has ${count(found.log_rows)} rows, the pool ${count(found.pool_rows)}.`
    + (seen ? ` Missing values were counted in ${count(found.log_seen)} and ${count(found.pool_seen)} of them.` : "");
  $("sources").textContent = found.sources.join(". ");
  $("sources").hidden = !found.sources.length;
  const focus = document.activeElement?.id, body = $("columns").querySelector("tbody");
  body.replaceChildren(...found.columns.map((column) => line(column, found)));
  if (focus?.startsWith("type-")) document.getElementById(focus)?.focus();
}

// Why the tables cannot be used like this. What is wrong with one column is said there.
export function unusable({ columns: { problem, columns } }) {
  const column = problem && columns.find((one) => one.problem === problem);
  return column ? `The column “${column.name}” cannot be read like this. Choose another type for it, or correct the file; see below.` : problem;
}

// What is chosen on the page now.
export function chosen(draft) {
  const found = draft.columns, types = {};
  for (const select of document.querySelectorAll("select[data-column]")) {
    const name = select.dataset.column, before = found.columns.find((c) => c.name === name);
    if (!select.value || (!before.given && select.value === before.kind)) continue;
    const order = [...document.querySelectorAll("input[data-order]")].find((input) => input.dataset.order === name);
    types[name] = select.value === "ordinal" && order?.value.trim() ? `ordinal:${order.value}` : select.value;
  }
  const named = given($("columns"));
  const pair = Object.keys(found.classes), positive = $("positive").value;
  if (pair.length !== 2 && named.label === found.label && !named.classes.length) pair.push(...draft.choices.classes);
  let { classes } = named;
  const same = named.label === found.label;
  if (same && pair.length === 2 && !classes.length) {
    classes = !pair.includes(positive) ? pair : draft.choices.classes.length || positive !== pair[1] ? [pair.find((name) => name !== positive), positive] : [];
  } else if (classes.length === 2 && classes.includes(positive)) classes = [classes.find((name) => name !== positive), positive];
  return { ...named, types, classes: same ? classes : [] };
}
