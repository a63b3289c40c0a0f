// Exchanges the code behind the # of a link for a cookie. First of all, the code is removed from the address bar.

import { busy, call, pause } from "./api.js";

function say(title, text) {
  document.getElementById("title").textContent = title;
  document.getElementById("text").textContent = text;
}

let timer = 0;

function enter() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (!code) return say("Open your link", "You need a personal link to open this page. Ask the person who runs the campaign for one.");
  say("One moment", "Opening your link");
  send(code);
}

async function send(code) {
  clearTimeout(timer);
  try {
    location.replace((await call("POST", "/api/enter", { code })).page);
  } catch (error) {
    if (error.status === 401) say("This link no longer works", error.message);
    else if (busy(error)) {
      say("One moment", "The server is busy. Trying again.");
      timer = setTimeout(send, pause(error, 1000), code);
    } else say("That did not work", `${error.message.replace(/\.$/, "")}. Open the link again.`);
  }
}

addEventListener("hashchange", enter); // another link, opened in the same tab
enter();
