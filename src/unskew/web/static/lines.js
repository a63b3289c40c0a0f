// What the history and the conflicts share: comments, and forms that send something.

import { busy, call, denied, limited, trouble } from "./api.js";
import { ago } from "./ago.js";

export const $ = (id) => document.getElementById(id);
export const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

export function comments(list, given) {
  list.hidden = !given.length;
  list.replaceChildren(...given.map((one) => {
    const line = document.createElement("li"), who = document.createElement("b"), text = document.createElement("span");
    who.textContent = `${one.by}, ${ago(one.at)}: `;
    text.textContent = one.text;
    text.dir = "auto";
    line.append(who, text);
    return line;
  }));
}

// In words that fit whoever reads the page.
export function told(error) {
  if (denied(error)) return "You are no longer signed in. Open your link again.";
  if (error.lasting) return trouble(error);
  if (busy(error) && !limited(error)) return "The server is busy. Try again in a moment.";
  if (!error.status) return "No connection. Try again.";
  return error.message[0].toUpperCase() + error.message.slice(1);
}

// Sends a form when it is submitted. A refusal is shown in `problem`, and goes with the next attempt.
export function sends(form, problem, method, path, body, done) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    problem.hidden = true;
    try {
      const answer = await call(method, path, body());
      button.disabled = false;
      done(answer);
    } catch (error) {
      button.disabled = false;
      problem.textContent = told(error);
      problem.hidden = false;
    }
  });
}
