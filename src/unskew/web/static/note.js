// A comment on the row that is shown. It opens the guidelines too, where there is room beside the row.

import { Keys, call, sentence } from "./api.js";

// `current` gives the id of the row on the page, if there is one, and `say` tells people something for a while.
// What it returns is called when that row was answered: what is written goes to the row it is about.
export function watchNote(current, say) {
  const note = document.getElementById("note"), field = document.getElementById("note-text");
  const keys = new Keys();
  let about = null; // the row that the text in the field is about

  async function send() {
    const text = field.value.trim();
    if (!about || !text) return;
    try {
      await call("POST", "/api/comment", { id: about, text, key: keys.of(`${about} ${text}`) });
      keys.done();
      field.value = "";
      about = null;
      note.open = false;
      say("Your comment is kept.");
    } catch (error) {
      say(error.status ? sentence(error.message) : `No connection. Your comment on row ${about} was not sent: add it again.`);
    }
  }

  note.addEventListener("toggle", () => { if (note.open) field.focus(); });
  field.addEventListener("input", () => { about = field.value ? about ?? current() : null; });
  note.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    await send();
    if (!note.open) note.querySelector("summary").focus();
  });
  const guide = document.getElementById("guide");
  if (guide) guide.open = matchMedia("(min-width: 64rem)").matches;
  return () => {
    if (field.value.trim()) send();
    else note.open = false;
  };
}
