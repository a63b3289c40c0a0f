// The bar of answers: where it stands, and whether its keys are on.

const MOST = 0.4; // of the window's height: a bar that needs more follows the row instead of staying at the bottom
const KEY = "unskew shortcuts";

export class Bar {
  constructor(node, box) {
    this.node = node;
    this.box = box; // the checkbox that turns keys on and off
    try {
      box.checked = localStorage.getItem(KEY) !== "off";
    } catch { /* no storage: keys are on whenever the page is opened */ }
    box.addEventListener("change", () => this.#switched());
    this.#showKeys();
    this.fit();
    addEventListener("resize", () => this.fit());
  }

  get keys() {
    return this.box.checked;
  }

  fit() {
    this.node.classList.remove("flows");
    this.node.classList.toggle("flows", this.node.offsetHeight > MOST * innerHeight);
  }

  #switched() {
    try {
      if (this.keys) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, "off");
    } catch { /* no storage */ }
    this.#showKeys();
    this.fit();
  }

  #showKeys() {
    this.node.classList.toggle("no-keys", !this.keys);
  }
}
