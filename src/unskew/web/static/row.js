// A row as the page shows it. Everything is inserted as text, so nothing in the data can become markup.

const FOLD = 1200; // a text with more characters than this scrolls in its own box

function made(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

let words = null; // a pattern of the words to highlight

export function highlight(list) {
  const escaped = list.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  words = list.length ? new RegExp(`(${escaped.join("|")})`, "giu") : null;
}

// Puts a text into a node, with the words marked.
function put(node, text) {
  if (!words) node.textContent = text;
  else node.append(...text.split(words).map((part, k) => (k % 2 ? made("mark", "", part) : part)));
}

function value(field) {
  const node = made("dd", field.kind);
  node.dir = "auto"; // each value in the direction of its own script
  if (field.exact) node.title = field.exact;
  if (field.kind === "image") {
    const image = made("img");
    image.alt = `${field.name}: ${field.text}`;
    image.referrerPolicy = "no-referrer";
    image.src = field.href;
    node.append(image);
  } else if (field.kind === "link") {
    const link = made("a", "", field.text);
    link.href = field.href;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    node.append(link);
  } else {
    if (field.kind === "text") put(node, field.text);
    else node.textContent = field.text;
    if (field.wide) node.classList.add("long");
    if (field.text.length > FOLD) {
      node.classList.add("folded");
      node.tabIndex = 0; // so that the keyboard can scroll it
    }
  }
  return node;
}

export function draw(list, row) {
  list.replaceChildren(...row.fields.map((field) => {
    const pair = made("div", field.wide ? "wide" : "");
    const name = made("dt", "", field.name);
    name.dir = "auto";
    pair.append(name, value(field));
    return pair;
  }));
  list.classList.remove("new");
  void list.offsetWidth; // so that the animation restarts
  list.classList.add("new");
}

// Loads the pictures of the next row in advance.
export function preload(row) {
  for (const field of row.fields) if (field.kind === "image") new Image().src = field.href;
}
