// What a campaign follows (the error, a cost, the recall) with its interval by the number of labels, as SVG.

const NS = "http://www.w3.org/2000/svg";
const H = 300, LEFT = 48, RIGHT = 16, TOP = 12, BOTTOM = 44;

function made(tag, attributes, text) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Round numbers that divide [0, most] into about `pieces` parts.
function ticks(most, pieces) {
  const raw = most / pieces, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= raw);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, k) => k * step);
}

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
// A cost has the unit of the costs, whatever that is; everything else is a share.
export const shown = (value, measure) => measure === "cost" ? value.toLocaleString("en", { maximumSignificantDigits: 3 }) : percent(value);

// Points that are about the same rows: each time the pool grows, a new part of the line begins.
function parts(points) {
  const found = [];
  for (const point of points) {
    if (point.rows === found.at(-1)?.[0].rows) found.at(-1).push(point);
    else found.push([point]);
  }
  return found;
}

// `W` is the available width, so that text in the chart is as large as text around it.
// The axis goes on to the budget, so that one sees how much is still to come.
export function chart(points, W, name, measure, wanted, budget) {
  const svg = made("svg", { viewBox: `0 0 ${W} ${H}`, role: "img" });
  const end = points.at(-1), say = (value) => shown(value, measure);
  svg.setAttribute("aria-label", `${name} after ${end.labels} labels: ${say(end.value)}, between ${say(end.low)} and ${say(end.high)}.`);
  const least = measure === "cost" ? 1e-9 : 0.01;
  const most = Math.max(...points.map((p) => p.high), wanted || 0, least) * 1.05;
  const last = Math.max(end.labels, budget, 1);
  const x = (labels) => LEFT + (W - LEFT - RIGHT) * (labels / last);
  const y = (share) => H - BOTTOM - (H - TOP - BOTTOM) * (share / most);

  const steps = ticks(most, 5);
  const digits = steps[1] < 0.01 || (100 * steps[1]) % 1 > 1e-9 ? 1 : 0;
  for (const share of steps) {
    svg.append(made("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(share), y2: y(share) }));
    svg.append(made("text", { class: "axis", x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" }, measure === "cost" ? say(share) : percent(share, digits)));
  }
  for (const labels of ticks(last, W < 500 ? 4 : 8).filter(Number.isInteger)) {
    svg.append(made("text", { class: "axis", x: x(labels), y: H - BOTTOM + 20, "text-anchor": "middle" }, labels.toLocaleString("en")));
  }
  svg.append(made("text", { class: "axis", x: (LEFT + W - RIGHT) / 2, y: H - 4, "text-anchor": "middle" }, "labels given"));

  const way = (list) => list.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
  for (const part of parts(points)) {
    const one = part[0];
    if (one !== points[0]) svg.append(made("line", { class: "wanted grown", x1: x(one.labels), x2: x(one.labels), y1: TOP, y2: H - BOTTOM }));
    if (part.length > 1) {
      const upper = part.map((p) => [x(p.labels), y(p.high)]), lower = part.map((p) => [x(p.labels), y(p.low)]);
      svg.append(made("polygon", { class: "band", points: way([...upper, ...lower.reverse()]) }));
      svg.append(made("polyline", { class: "line", points: way(part.map((p) => [x(p.labels), y(p.value)])) }));
    } else svg.append(made("line", { class: "whisker", x1: x(one.labels), x2: x(one.labels), y1: y(one.low), y2: y(one.high) }));
  }
  if (wanted) svg.append(made("line", { class: "wanted", x1: LEFT, x2: W - RIGHT, y1: y(wanted), y2: y(wanted) }));
  const few = points.length <= 60;
  for (const p of few ? points : [end]) {
    const dot = made("circle", { class: "dot", cx: x(p.labels), cy: y(p.value), r: 4 });
    dot.append(made("title", {}, `${p.labels} labels: ${say(p.value)}, ${say(p.low)} to ${say(p.high)}`));
    svg.append(dot);
  }
  return svg;
}
