// The part of the progress page that helps to decide: advice, budget, end, and how far people agree.

import { call, sentence } from "./api.js";
import { percent } from "./chart.js";

const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en");
const points = (share) => (100 * share).toFixed(1);

// What the next labels should do, in one sentence.
function ahead({ labels, half_width: width, gain, spent }, ended) {
  if (ended || !labels || (width === null && gain === null)) return "";
  const parts = [];
  if (width !== null) parts.push(`bring the interval to about ±${points(width)} points`);
  if (gain !== null) parts.push(`lower the error by about ${points(gain)} points`);
  const next = labels === 1 ? "next label" : `next ${count(labels)} labels`;
  return `${spent ? `If you raise the budget, the ${next}` : `The ${next}`} should ${parts.join(" and ")}.`;
}

export function advise(s) {
  $("advice").textContent = s.advice.words;
  $("next-labels").textContent = ahead(s.advice, s.ended) || "\u00a0";
  const n = s.two_people.conflicts;
  $("to-settle").hidden = !n;
  $("to-settle").firstElementChild.textContent = `People differ on ${n === 1 ? "1 row" : `${count(n)} rows`}: settle ${n === 1 ? "it" : "them"}`;
  if (document.activeElement !== $("budget")) $("budget").value = s.budget;
  $("end").textContent = s.ended ? "Reopen the campaign" : "End the campaign";
  $("end").dataset.ended = s.ended ? "1" : "";
}

function line(name, found) {
  const row = document.createElement("tr"), who = document.createElement("th");
  who.scope = "row";
  who.className = "words";
  who.dir = "auto";
  who.textContent = name;
  row.append(who);
  const signed = (value) => value.toFixed(2).replace("-", "−");
  const kappa = found.kappa === null ? "–" : `${signed(found.kappa)} (${signed(found.kappa_low)} to ${signed(found.kappa_high)})`;
  const texts = [["Rows", count(found.rows)], ["Same label", `${percent(found.raw, 0)} (${points(found.low)} to ${points(found.high)})`], ["Kappa", kappa]];
  for (const [label, text] of texts) {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.dataset.label = label;
  }
  return row;
}

const day = (iso) => new Date(iso).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export function agreed([two, people]) {
  $("two").hidden = !two.all && !two.share;
  const waiting = two.waiting ? ` ${count(two.waiting)} wait for one more person.` : "";
  $("two-words").textContent = two.all
    ? `Two people gave the same label to ${percent(two.all.raw, 0)} of ${count(two.all.rows)} rows. ${count(two.conflicts)} are in conflict.${waiting}`
    : `No row was seen by two people yet.${waiting}`;
  const lines = two.all ? [["All", two.all]] : [];
  for (const p of people) if (p.agreement) lines.push([p.name, p.agreement]);
  for (const one of two.over_time.length > 1 ? two.over_time : []) lines.push([`${day(one.since)} to ${day(one.until)}`, one.agreement]);
  $("two-people").hidden = !lines.length;
  $("two-people").tBodies[0].replaceChildren(...lines.map(([name, found]) => line(name, found)));
}

function problem(text) {
  $("decide-problem").hidden = !text;
  $("decide-problem").textContent = text;
}

async function change(changes, refresh) {
  problem("");
  try {
    await call("PATCH", "/api/campaign", changes);
  } catch (error) {
    problem(error.status ? sentence(error.message) : "No connection. Try again.");
  }
  refresh();
}

export function decides(refresh) {
  $("budget-form").addEventListener("submit", (event) => {
    event.preventDefault();
    document.activeElement.blur();
    change({ budget: Number($("budget").value) }, refresh);
  });
  $("end").addEventListener("click", () => {
    const ended = Boolean($("end").dataset.ended);
    if (!ended && !confirm("No more rows will be handed out. Answers to rows that people hold still count. You can reopen the campaign.")) return;
    change({ ended: !ended }, refresh);
  });
}
