// The bar of answers: how wide its buttons are, where it stands, and whether its keys are on.

const MOST = 0.4; // of the window's height: a bar that needs more follows the row instead of staying at the bottom
const LEAST = 0.4, ENOUGH = 192; // of the window's height, or pixels: a bar that leaves the row less follows it too
const KEY = "unskew shortcuts";

export class Bar {
  constructor(node, box) {
    this.node = node;
    this.box = box; // the checkbox that turns keys on and off
    this.classes = node.matches(".keys") ? node.querySelector(".classes") : null; // a grid of buttons, unless there are two classes or a list
    this.row = document.getElementById("row");
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
    if (this.classes) this.#widen();
    this.node.classList.remove("flows");
    const height = this.node.offsetHeight;
    const room = innerHeight - height - (this.row.getBoundingClientRect().top + scrollY); // when scrolled to the top
    const flows = height > MOST * innerHeight || room < Math.min(LEAST * innerHeight, ENOUGH);
    this.node.classList.toggle("flows", flows);
  }

  // Buttons are as wide as the longest word needs, so that none is broken.
  #widen() {
    this.classes.classList.add("measured");
    const widest = Math.max(...[...this.classes.children].map((button) => button.offsetWidth));
    this.classes.classList.remove("measured");
    this.classes.style.setProperty("--word", `${widest + 1}px`);
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
