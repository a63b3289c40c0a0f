// The fields of a form by their names: what they hold, and filled with what is known. `web/forms.py` describes them.

const named = (form) => [...form.querySelectorAll("[name]")];
const scale = (field) => Number(field.dataset.scale || 1);

function held(field) {
  const text = field.value.trim();
  if ("names" in field.dataset) return text.split(",").map((name) => name.trim()).filter(Boolean);
  if (field.type === "number") return text ? Number(text) / scale(field) : undefined; // its default
  return field.tagName === "SELECT" ? text || null : text;
}

export function given(form) {
  return Object.fromEntries(named(form).map((field) => [field.name, held(field)]));
}

export function fill(form, values) {
  for (const field of named(form)) {
    const value = values[field.name];
    field.value = field.type === "number" && value !== null ? +(value * scale(field)).toFixed(4) : value ?? "";
  }
}
