// More than two classes: the room they have, and where there are more of them than keys, the list to find one in.

// Texts are compared without case and accents.
const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().trim();

// How well a name fits what was typed: 0 is best, and -1 means not at all.
function fit(name, typed) {
  if (name === typed) return 0;
  if (name.startsWith(typed)) return 1;
  const words = typed.split(/\s+/);
  if (!words.every((word) => name.includes(word))) return -1;
  return name.split(/[^\p{L}\p{M}\p{N}]+/u).some((part) => part.startsWith(words[0])) ? 2 : 3;
}

// Where classes are hidden below, the last ones that can be seen fade out.
export function showMore(box) {
  const look = () => box.classList.toggle("more", box.scrollHeight - box.scrollTop - box.clientHeight > 4);
  box.addEventListener("scroll", look);
  const sizes = new ResizeObserver(look);
  for (const node of [box, ...box.children]) sizes.observe(node);
}

export class Finder {
  // `choose` is given a class, and says whether it could be taken as the answer.
  constructor(field, choose) {
    this.field = field;
    this.choose = choose;
    this.list = document.getElementById("classes");
    this.options = [...this.list.children].map((node) => ({ node, name: plain(node.dataset.label) }));
    this.active = null;
    field.addEventListener("input", () => this.filter());
    field.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    this.list.addEventListener("click", (event) => this.take(event.target.closest("[role=option]")));
    // On a phone the keyboard on the screen would cover the row, so there people open it themselves.
    if (!matchMedia("(hover: none) and (pointer: coarse)").matches) field.focus({ preventScroll: true });
  }

  filter() {
    const typed = plain(this.field.value), box = this.list.parentElement;
    const fits = this.options.map(({ node, name }) => ({ node, fit: typed ? fit(name, typed) : 0 })).filter((one) => one.fit >= 0);
    box.style.minHeight = typed ? box.style.minHeight || `${box.offsetHeight}px` : ""; // nothing moves while somebody types
    this.list.replaceChildren(...fits.sort((a, b) => a.fit - b.fit).map((one) => one.node));
    document.getElementById("no-class").hidden = fits.length > 0;
    this.point(typed && fits.length ? fits[0].node : null);
    if (!this.active) box.scrollTop = 0;
  }

  // Marks the class that Enter chooses. While nothing is typed there is none, so that no answer is given by accident.
  point(node) {
    this.active?.setAttribute("aria-selected", "false");
    this.active = node;
    if (node) {
      node.setAttribute("aria-selected", "true");
      node.scrollIntoView({ block: "nearest" });
      this.field.setAttribute("aria-activedescendant", node.id);
    } else this.field.removeAttribute("aria-activedescendant");
  }

  key(event) {
    if (event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    const nodes = [...this.list.children], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && nodes.length) {
      const at = this.active ? nodes.indexOf(this.active) + step : step > 0 ? 0 : -1;
      this.point(nodes.at(at % nodes.length));
    } else if (event.key === "Enter") {
      if (!event.repeat) this.take(this.active);
    } else if (event.key === "Escape") this.clear();
    else return;
    event.preventDefault();
  }

  take(node) {
    if (node && this.choose(node.dataset.label)) this.clear();
  }

  clear() {
    this.field.value = "";
    this.filter();
  }
}
