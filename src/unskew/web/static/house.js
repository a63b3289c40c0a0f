// The list of campaigns: begins and discards drafts.

import { base, call } from "./api.js";

const $ = (id) => document.getElementById(id);

$("new")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  $("new-problem").hidden = true;
  try {
    const draft = await call("POST", "/api/drafts", { name: $("name").value });
    location.assign(`${base}/start/${draft.id}`);
  } catch (error) {
    $("new-problem").textContent = error.message[0].toUpperCase() + error.message.slice(1);
    $("new-problem").hidden = false;
    $("name").focus();
  }
});

for (const button of document.querySelectorAll("[data-discard]")) {
  button.addEventListener("click", async () => {
    if (!confirm("Discard what was prepared, and remove the uploaded files?")) return;
    await call("DELETE", `/api/drafts/${button.dataset.discard}`).catch(() => null);
    location.reload();
  });
}
