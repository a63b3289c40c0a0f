// The header of every page: signing out.

import { base, call, denied } from "./api.js";

const button = document.getElementById("leave");
// An administrator's link works once, so it cannot be opened again.
const WARNING = "Your link worked only once. To sign in again, you will need the link that the server prints when it is started again. Sign out?";

button.addEventListener("click", async () => {
  if (button.dataset.role === "admin" && !confirm(WARNING)) return;
  try {
    await call("POST", "/api/leave");
  } catch (error) {
    if (!denied(error)) return alert("The server did not answer, so you are still signed in. Try again.");
  }
  location.assign(`${base}/`);
});
