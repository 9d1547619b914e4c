// Score against what a candidate costs, weighs, writes, or the day it came out; the frontier is drawn through those that
// none beats with less.
const AXES = {
  usd: { name: "cost", said: "USD for its reviews and their judgments, at list prices", log: true, of: (one) => one.usd || undefined },
  parameters: { name: "size", said: "billions of parameters; those of closed models are estimates", log: true, of: (one) => one.parameters },
  released: { name: "date", said: "the day on which anybody could first use it", of: (one) => one.released && Date.parse(one.released), write: (day) => new Date(day).toISOString().slice(0, 7) },
  words: { name: "length", said: "mean words of its reviews, as the metric reads them", of: (one) => one.words },
};

const FEWEST = 3;  // a plot of two dots tells less than the board
const pointsOf = (board, axis) => board.points.filter((one) => one.mean !== undefined && axis.of(one) !== undefined);
const offered = data ? Object.keys(AXES).filter((key) => data.boards.some((board) => pointsOf(board, AXES[key]).length >= FEWEST)) : [];
// The first of them is what the view opens on: what most candidates of the first board state.
offered.sort((one, other) => pointsOf(data.boards[0], AXES[other]).length - pointsOf(data.boards[0], AXES[one]).length);

// The candidates that no other beats at the same x or less; controls are no rivals.
const frontier = (points, axis) => {
  let best = -Infinity;
  return points.filter((one) => one.kind !== "control").sort((one, other) => axis.of(one) - axis.of(other) || other.mean - one.mean)
    .filter((one) => one.mean > best && ((best = one.mean), true));
};

const pen = document.createElement("canvas").getContext("2d");
const labelled = (spots, start, width, height) => {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const taken = spots.map(([x, y]) => [x - 6, y - 6, x + 6, y + 6]), found = [];
  spots.forEach(([x, y, name], own) => {
    const long = pen.measureText(name).width + 2;
    for (const [dx, dy, anchor] of [[9, 4, "start"], [-9, 4, "end"], [0, -10, "middle"], [0, 18, "middle"]]) {
      const left = x + dx - { start: 0, end: long, middle: long / 2 }[anchor];
      const area = [left, y + dy - 10, left + long, y + dy + 3];
      const free = area[0] > start && area[2] < width && area[1] > 0 && area[3] < height
        && taken.every((other, n) => n === own || area[2] < other[0] || other[2] < area[0] || area[3] < other[1] || other[3] < area[1]);
      if (!free) continue;
      taken.push(area);
      found.push(make("svg:text", { x: x + dx, y: y + dy, "text-anchor": anchor, class: "name" }, name));
      break;
    }
  });
  return found;
};

const drawCloud = (open) => {
  const key = offered.includes(address.get("x")) ? address.get("x") : offered[0], axis = AXES[key];
  const board = data.boards[open], points = pointsOf(board, axis), picture = byId("points");
  for (const button of all("#axes button")) button.setAttribute("aria-pressed", button.dataset.x === key);
  byId("cloud-what").textContent = axis.name;
  if (points.length < FEWEST) {
    picture.replaceChildren(make("p", { class: "soft" }, `Fewer than three candidates of ${board.title} state it.`));
    byId("cloud-said").textContent = "";
    return;
  }
  const width = Math.max(320, picture.clientWidth - 24), height = Math.min(420, 0.62 * width), edge = { left: 56, right: 16, top: 14, bottom: 40 };
  const human = board.points.find((one) => one.kind === "human" && one.mean !== undefined);
  const xs = points.map(axis.of), ys = [...points, ...(human ? [human] : [])].flatMap((one) => [one.low ?? one.mean, one.high ?? one.mean]);
  const bend = axis.log ? Math.log : (value) => value;
  const room = 0.05 * ((bend(Math.max(...xs)) - bend(Math.min(...xs))) || 1);
  const [x0, x1] = [bend(Math.min(...xs)) - room, bend(Math.max(...xs)) + room];
  const tall = 0.05 * ((Math.max(...ys) - Math.min(...ys)) || 1), [y0, y1] = [Math.min(...ys) - tall, Math.max(...ys) + tall];
  const across = (value) => edge.left + (bend(value) - x0) / (x1 - x0) * (width - edge.left - edge.right);
  const down = (value) => edge.top + (y1 - value) / (y1 - y0) * (height - edge.top - edge.bottom);
  const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart" });
  for (const tick of ticks(y0, y1)) {
    svg.append(make("svg:line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: down(tick), y2: down(tick) }),
      make("svg:text", { x: edge.left - 8, y: down(tick) + 4, "text-anchor": "end" }, plainly(tick)));
  }
  const powers = axis.log ? [-3, -2, -1, 0, 1, 2, 3, 4].flatMap((power) => [1, 2, 5].map((factor) => Number(`${factor}e${power}`))) : null;
  const marks = (powers ? powers.filter((tick) => bend(tick) >= x0 && bend(tick) <= x1) : ticks(x0, x1, width / 100));
  let last = -Infinity;
  for (const tick of marks) {
    if (across(tick) - last < 34) continue;
    last = across(tick);
    svg.append(make("svg:text", { x: last, y: height - edge.bottom + 18, "text-anchor": "middle" }, axis.write ? axis.write(tick) : plainly(tick)));
  }
  svg.append(make("svg:text", { x: (edge.left + width - edge.right) / 2, y: height - 5, "text-anchor": "middle" }, width < 500 ? axis.name : axis.said.split(";")[0]));
  if (human) {
    if (human.low !== undefined) svg.append(make("svg:rect", { class: "band", x: edge.left, width: width - edge.left - edge.right, y: down(human.high), height: down(human.low) - down(human.high) }));
    svg.append(make("svg:line", { class: "mid", x1: edge.left, x2: width - edge.right, y1: down(human.mean), y2: down(human.mean) }));
  }
  const steps = board.points.some((one) => one.rank) ? frontier(points, axis) : [];  // none without an order
  const path = steps.map((one, n) => n ? `H${across(axis.of(one))}V${down(one.mean)}` : `M${across(axis.of(one))},${down(one.mean)}`).join("");
  if (steps.length) svg.append(make("svg:path", { class: "frontier", d: `${path}H${width - edge.right}` }));
  for (const one of points) {
    const [x, y] = [across(axis.of(one)), down(one.mean)], [colour, shape] = data.marks[one.family || "other"] || ["var(--human)", null];
    if (one.low !== undefined) svg.append(make("svg:line", { class: "reach", x1: x, x2: x, y1: down(one.low), y2: down(one.high) }));
    const told = `${one.name}: ${signed(one.mean, board.digits)}${one.low === undefined ? "" : `, 90% interval ${signed(one.low, board.digits)} to ${signed(one.high, board.digits)}`} ${board.unit}; ${axis.write ? axis.write(axis.of(one)) : Number(axis.of(one).toPrecision(3)).toLocaleString("en")} ${axis.name === "date" ? "" : axis.said.split(";")[0]}${steps.includes(one) ? "; on the frontier" : ""}`;
    const drawn = one.kind === "model" && shape ? make("svg:path", { d: shape, transform: `translate(${x},${y}) scale(5.5)`, fill: colour })
      : make("svg:circle", { cx: x, cy: y, r: 5, class: one.kind });
    for (const [name, value] of [["role", "img"], ["aria-roledescription", "point"], ["aria-label", told]]) drawn.setAttribute(name, value);
    svg.append(one.href ? make("svg:a", { href: one.href, tabindex: -1, "aria-label": one.name }, drawn) : drawn);
  }
  const spots = [...steps, ...points.filter((one) => !steps.includes(one))].map((one) => [across(axis.of(one)), down(one.mean), one.name.split("/").pop()]);
  svg.append(...labelled(spots, edge.left, width, height - edge.bottom));
  picture.replaceChildren(svg);
  const lacking = board.points.filter((one) => one.kind === "model" && one.mean !== undefined).length - points.filter((one) => one.kind === "model").length;
  byId("cloud-said").textContent = `${board.title} against ${axis.said}. Upright lines: 90% intervals by paper.${human ? " Grey: the human baseline." : ""}${steps.length ? ` Stepped line: the frontier, the candidates that none beats ${key === "released" ? "among those that came out no later" : "with less"}.` : ""}${lacking ? ` Not drawn: ${lacking} without that figure.` : ""}`;
};

if (offered.length) {
  byId("axes").hidden = offered.length < 2;
  byId("axes").append(...offered.map((key, n) => {
    const button = make("button", { type: "button", class: "quiet", "data-x": key }, AXES[key].name);
    button.addEventListener("click", () => change({ x: n ? key : "" }));
    return button;
  }));
  byId("cloud").hidden = false;
  drawings.push(drawCloud);
  addEventListener("resize", () => drawCloud(place()));
}
if (!offered.length) for (const link of all('a[href="#cloud"]')) link.remove();
