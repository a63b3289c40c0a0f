// Exchanges the code behind the # of a link for a cookie. First of all, the code is removed from the address bar.

import { base, busy, call, pause, sentence, trouble } from "./api.js";

function say(title, text) {
  document.title = title;
  document.getElementById("title").textContent = title;
  document.getElementById("text").textContent = text;
}

let timer = 0;

function enter() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (!code) return say("Open your link", "You need a personal link to open this page. Ask the person who runs the campaign for one.");
  document.getElementById("switch").hidden = true;
  say("One moment", "Opening your link");
  send(code);
}

// Somebody else is signed in in this browser. A link that was opened by accident must not change who answers.
function ask(code, { name, instead_of: before }) {
  say(`Go on as ${name}?`, `You are signed in as ${before} in this browser. This link is for ${name}.`);
  const button = document.getElementById("go-on");
  button.textContent = `Go on as ${name}`;
  button.onclick = () => send(code, true);
  document.getElementById("stay").textContent = `Stay signed in as ${before}`;
  document.getElementById("switch").hidden = false;
  button.focus();
}

async function send(code, change = false) {
  clearTimeout(timer);
  try {
    const entered = await call("POST", "/api/enter", { code, switch: change });
    if (entered.instead_of) ask(code, entered);
    else location.replace(base + entered.page);
  } catch (error) {
    if (error.status === 401) say("This link does not work", error.message);
    else if (busy(error)) {
      say(error.lasting ? "Answers cannot be taken" : "One moment", `${trouble(error)} Trying again.`);
      timer = setTimeout(send, pause(error, 1000), code, change);
    } else say("That did not work", `${sentence(error.message.replace(/\.$/, ""))}. Open the link again.`);
  }
}

addEventListener("hashchange", enter); // another link, opened in the same tab
enter();
