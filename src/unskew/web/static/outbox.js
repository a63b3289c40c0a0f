// Answers being sent. Each is kept, even across a reload, until the server has accepted or refused it. They are sent one
// at a time and in order. Sending one twice does no harm: the server recognises an answer it already has.
// An undo beyond a limit is not kept: whoever wants it can ask again.

import { call, judged, denied, limited, pause } from "./api.js";

const FIRST_WAIT = 500, LONGEST_WAIT = 15_000;

export class Outbox {
  // `on` has: sent(item, answer), refused(item, error), waiting(error, seconds), signedOut(error), through()
  constructor(name, on) {
    this.key = `${Math.random()} ${name}`; // each tab has its own, so that none overwrites another's
    this.on = on;
    this.items = this.#takeOver(name);
    this.sending = false;
    this.failures = 0;
    this.timer = 0;
  }

  add(item) {
    this.items.push(item);
    this.#write();
    this.send();
  }

  // Removes and returns the last item if it was never sent.
  takeBack() {
    const untouched = this.items.length > (this.sending || this.failures ? 1 : 0);
    if (!untouched || this.items.at(-1).undo) return null;
    const item = this.items.pop();
    this.#write();
    return item;
  }

  holds(id) {
    return this.items.some((item) => item.id === id && !item.undo);
  }

  hurry() {
    clearTimeout(this.timer);
    this.send();
  }

  async send() {
    if (this.sending || !this.items.length) return;
    clearTimeout(this.timer);
    this.sending = true;
    const item = this.items[0];
    try {
      const answer = item.undo
        ? await call("POST", "/api/undo", { id: item.id, ask: item.ask })
        : await call("POST", "/api/tell", { answers: [{ id: item.id, label: item.label, ...item.remarks }], ask: item.ask });
      this.#done(() => this.on.sent(item, answer));
    } catch (error) {
      this.sending = false;
      if (denied(error)) this.on.signedOut(error);
      else if (judged(error) || (item.undo && limited(error))) this.#done(() => this.on.refused(item, error));
      else this.#later(error);
    }
  }

  #done(tell) {
    this.sending = false;
    if (this.failures) this.on.through();
    this.failures = 0;
    this.items.shift();
    this.#write();
    tell();
    this.send();
  }

  #later(error) {
    const wait = pause(error, Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.failures));
    this.failures += 1;
    this.timer = setTimeout(() => this.send(), wait);
    this.on.waiting(error, Math.ceil(wait / 1000));
  }

  // Takes over the items that earlier tabs could not send. A tab that is still open sends them too, which does no harm.
  #takeOver(name) {
    try {
      const keys = Object.keys(localStorage).filter((key) => key.endsWith(` ${name}`));
      this.items = keys.flatMap((key) => JSON.parse(localStorage.getItem(key)));
      this.#write();
      for (const key of keys) localStorage.removeItem(key);
      return this.items;
    } catch {
      return [];
    }
  }

  #write() {
    try {
      if (this.items.length) localStorage.setItem(this.key, JSON.stringify(this.items));
      else localStorage.removeItem(this.key);
    } catch { /* no storage: the answers are kept only while the page is open */ }
  }
}
