// Rows on which people differ. The administrator settles them one by one.

import { ago } from "./ago.js";
import { call } from "./api.js";
import { $, comments, count, sends, told } from "./lines.js";
import { draw } from "./row.js";

function line(one) {
  const node = $("line").content.cloneNode(true).firstElementChild, of = (name) => node.querySelector(name);
  of(".id").textContent = `Row ${one.id}`;
  of(".said").replaceChildren(...one.said.map((said) => {
    const item = document.createElement("li"), who = document.createElement("bdi"), what = document.createElement("span"),
      when = document.createElement("span");
    who.textContent = said.by;
    what.textContent = said.label ?? "skipped";
    what.className = "badge accent";
    what.dir = "auto";
    when.textContent = ago(said.at);
    when.className = "soft";
    item.append(who, " said ", what, " ", when);
    return item;
  }));
  draw(of(".fields"), one);
  comments(of(".comments"), one.comments);
  const form = of(".settle");
  sends(form, of(".problem"), "POST", "/api/correct",
    () => ({ id: one.id, label: form.elements.label.value, reason: form.elements.reason.value }),
    (done) => {
      const next = node.nextElementSibling ?? node.previousElementSibling;
      node.remove();
      next?.querySelector("select").focus();
      refresh(`Row ${done.id} is ${done.label}.`);
    });
  return node;
}

async function refresh(said = "") {
  try {
    const found = await call("GET", "/api/conflicts");
    $("conflicts").classList.remove("loading");
    const shown = new Map([...$("rows").children].map((node) => [node.dataset.row, node]));
    const wanted = new Set(found.conflicts.map((one) => one.id));
    for (const [id, node] of shown) if (!wanted.has(id)) node.remove();
    for (const one of found.conflicts) {
      if (shown.has(one.id)) continue; // somebody may be typing there
      const node = line(one);
      node.dataset.row = one.id;
      $("rows").append(node);
    }
    $("found").textContent = `${said} ${count(found.found, "conflict")}`.trim();
    $("waiting").hidden = !found.waiting;
    $("waiting").textContent = `${count(found.waiting, "row")} ${found.waiting === 1 ? "waits" : "wait"} for one more person.`;
    $("nothing").hidden = found.found > 0;
    $("meaning").hidden = !found.found;
  } catch (error) {
    $("found").textContent = told(error);
  }
}

refresh();
setInterval(() => { if (!document.hidden) refresh(); }, 5000);
