// Exchanges the code behind the # of a link for a cookie. The code leaves the address bar before anything else.

import { call, Refused } from "./api.js";

const code = decodeURIComponent(location.hash.slice(1));
history.replaceState(null, "", location.pathname);

function say(title, text) {
  document.getElementById("title").textContent = title;
  document.getElementById("text").textContent = text;
}

if (!code) say("Open your link", "This page is opened with a link of your own. Ask whoever runs the campaign for one.");
else {
  try {
    location.replace((await call("POST", "/api/enter", { code })).page);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) say("This link no longer works", error.message);
    else say("That did not work", `${error.message}. Open the link again.`);
  }
}
