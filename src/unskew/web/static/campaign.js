// What people read beside a row, which columns they see, and how many rows two people see.

import { call } from "./api.js";
import { fill, given } from "./fields.js";
import { $, sends, told } from "./lines.js";

const form = $("guide"), problem = form.querySelector(".problem");
const UNSAVED = "Not saved yet";

function column(name, own, shown, as) {
  const node = $("column").content.cloneNode(true).firstElementChild;
  node.dataset.column = name;
  node.querySelector(".tick span").textContent = own;
  node.querySelector("[type=checkbox]").checked = shown;
  const field = node.querySelector(".name");
  field.value = as;
  field.placeholder = own;
  field.ariaLabel = `Name for ${own}`;
  for (const [side, step] of [["up", -1], ["down", 1]]) {
    const button = node.querySelector(`.${side}`);
    button.ariaLabel = `Move ${own} ${side}`;
    button.addEventListener("click", () => {
      const other = step < 0 ? node.previousElementSibling : node.nextElementSibling;
      if (!other) return;
      if (step < 0) other.before(node);
      else other.after(node);
      button.focus();
      $("saved").textContent = UNSAVED;
    });
  }
  return node;
}

function show(now) {
  fill(form, now);
  $("preview").innerHTML = now.rendered; // made by the server from escaped text
  for (const field of form.querySelectorAll("[data-class]")) field.value = now.explained[field.dataset.class] || "";
  const chosen = new Map(now.columns), all = Object.entries(now.all_columns);
  const order = [...now.columns.map(([name]) => [name, now.all_columns[name]]), ...all.filter(([name]) => !chosen.has(name))];
  $("columns").replaceChildren(...order.map(([name, own]) => column(name, own, !chosen.size || chosen.has(name), chosen.get(name) || "")));
  $("words").value = now.highlighted.join("\n");
}

function wanted() {
  const rows = [...$("columns").children];
  const ticked = rows.filter((row) => row.querySelector("[type=checkbox]").checked);
  const columns = ticked.map((row) => [row.dataset.column, row.querySelector(".name").value]);
  return {
    ...given(form),
    explained: Object.fromEntries([...form.querySelectorAll("[data-class]")].map((field) => [field.dataset.class, field.value])),
    columns,
    highlighted: $("words").value.split("\n").map((word) => word.trim()).filter(Boolean),
  };
}

sends(form, problem, "PATCH", "/api/campaign", wanted, (now) => {
  show(now);
  $("saved").textContent = "Saved. People see it when they open their page again.";
});
form.addEventListener("input", () => { $("saved").textContent = UNSAVED; });
call("GET", "/api/campaign").then((now) => {
  show(now);
  $("campaign").classList.remove("loading");
  $("fresh").textContent = "";
}, (error) => { $("fresh").textContent = told(error); });
