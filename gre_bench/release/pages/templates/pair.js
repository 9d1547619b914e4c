// Two candidates, paired: the tests come with the page, the differences of single papers are taken from its scores.
const names = data ? [...new Set(data.boards.flatMap((board) => board.points.map((one) => one.name)))] : [];
const scores = (board, name) => {
  const n = board.points.findIndex((one) => one.name === name);
  return n < 0 ? [] : board.values[n].split(",").map((text) => text === "" ? null : Number(text) / board.scale);
};
const testOf = (board, one, other) => {
  const [i, j] = [one, other].map((name) => board.points.findIndex((point) => point.name === name));
  const found = board.tests.find(([a, b]) => (a === i && b === j) || (a === j && b === i));
  if (!found) return null;
  const [a, , difference, low, high, p, papers, median, trimmed, holm] = found, sign = a === i ? 1 : -1;
  return { difference: sign * difference, low: a === i ? low : -high, high: a === i ? high : -low, p, papers, median: sign * median, trimmed: sign * trimmed, holm };
};
// Mean difference of each paper, on the references that both have: [paper's place, difference].
const leadsOf = (board, one, other) => {
  const [first, second] = [scores(board, one), scores(board, other)], sums = new Map();
  data.units.forEach((paper, n) => {
    if (first[n] === null || second[n] === null || first[n] === undefined || second[n] === undefined) return;
    const [sum, count] = sums.get(paper) || [0, 0];
    sums.set(paper, [sum + first[n] - second[n], count + 1]);
  });
  return [...sums].map(([paper, [sum, count]]) => [paper, sum / count]).sort((a, b) => b[1] - a[1]);
};

const strip = (board, leads, test, width) => {
  const ends = leads.map(([, lead]) => lead), low = Math.min(0, ...ends), high = Math.max(0, ...ends), room = 0.03 * ((high - low) || 1);
  const across = (value) => 12 + (value - low + room) / (high - low + 2 * room) * (width - 24);
  const bins = new Map(), tallest = 120;
  const dots = leads.map(([paper, lead]) => {
    const bin = Math.round(across(lead) / 6), stack = bins.get(bin) || 0;
    bins.set(bin, stack + 1);
    return [bin * 6, stack, paper, lead];
  });
  const rise = Math.min(6, tallest / Math.max(...bins.values())), height = rise * Math.max(...bins.values()) + 44, base = height - 32;
  const said = `${test ? `mean ${signed(test.difference, board.digits)}, 90% interval ${signed(test.low, board.digits)} to ${signed(test.high, board.digits)} ${board.unit}` : "no test"}; one dot a paper`;
  return make("svg:svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img", "aria-label": said },
    ...(test ? [make("svg:rect", { class: "band", x: across(test.low), width: across(test.high) - across(test.low), y: 0, height: base + 6 })] : []),
    make("svg:line", { class: "zero strong", x1: across(0), x2: across(0), y1: 0, y2: base + 6 }),
    ...(test ? [make("svg:line", { class: "mid", x1: across(test.difference), x2: across(test.difference), y1: 0, y2: base + 6 })] : []),
    ...dots.map(([x, stack, paper, lead]) => make("svg:circle", { class: lead > 0 ? "won" : "lost", cx: x, cy: base - rise * stack, r: 2.6, "data-tip": `${data.papers[paper][0]}: ${signed(lead, board.digits)} ${board.unit}` })),
    ...ticks(low - room, high + room, width / 110).map((tick) => make("svg:text", { x: across(tick), y: height - 8, "text-anchor": "middle" }, plainly(tick))));
};

const furthest = (title, found, board) => make("div", {}, make("h3", {}, title), found.length ? make("ol", { class: "extremes" },
  ...found.map(([paper, lead]) => make("li", {}, data.papers[paper][1] ? make("a", { href: data.papers[paper][1] }, data.papers[paper][0]) : data.papers[paper][0], make("span", { class: "soft" }, ` ${signed(lead, board.digits)}`)))) : make("p", {}, "On no paper."));

const drawPair = (open) => {
  const models = data.boards[open].points.filter((one) => one.kind === "model"), rest = data.boards[open].points.filter((one) => one.kind !== "model");
  const [first, second] = [...models, ...rest].map((one) => one.name);
  const one = names.includes(address.get("one")) ? address.get("one") : first;
  const other = names.includes(address.get("other")) ? address.get("other") : [second, first].find((name) => name !== one);
  byId("one").value = one;
  byId("other").value = other;
  const board = data.boards[open], test = testOf(board, one, other), leads = leadsOf(board, one, other), out = byId("compared");
  if (one === other) return out.replaceChildren(make("p", {}, "These are the same candidate: choose two."));
  if (!leads.length) return out.replaceChildren(make("p", {}, `They share no scored pair of ${board.title}.`));
  const won = leads.filter(([, lead]) => lead > 0).length, lost = leads.filter(([, lead]) => lead < 0).length;
  const tested = test && test.holm !== undefined, apart = test && (tested ? test.holm : test.p) < 0.05, bold = (text) => make("strong", {}, text);
  const ordered = board.points.some((point) => point.rank);  // by a validated metric
  const answer = test
    ? make("p", { class: "answer" }, bold(one), ` scores `, bold(`${signed(test.difference, board.digits)} ${board.unit}`), ` against `, bold(other),
      `: 90% interval ${signed(test.low, board.digits)} to ${signed(test.high, board.digits)}, p ${tested ? `${inText(test.holm)} as on the board, ${inText(test.p)} alone` : `${inText(test.p)} alone`}, ${test.papers.toLocaleString("en")} papers; higher on ${won}, lower on ${lost}, median ${signed(test.median, board.digits)}, trimmed mean ${signed(test.trimmed, board.digits)}. ${ordered ? apart ? "" : "At 5%, neither is shown to be better" + (tested ? "." : ", if nothing else is asked.") : `${board.title} is not validated: it orders nobody.`}`)
    : make("p", { class: "answer" }, `They share ${leads.length === 1 ? "one paper" : `${leads.length} papers`} of ${board.title}: too few for a test.`);
  const rows = data.boards.map((each) => [each, testOf(each, one, other)]).map(([each, found]) => make("tr", {},
    make("th", { scope: "row", class: "name" }, each.title, make("span", { class: "soft" }, ` ${each.unit}`)),
    ...(found ? [`${signed(found.difference, each.digits)}`, `${signed(found.low, each.digits)} to ${signed(found.high, each.digits)}`, inText(found.p), String(found.papers)] : ["no test", "", "", ""]).map((text) => make("td", {}, text))));
  out.replaceChildren(answer, make("figure", { class: "wide" }, make("div", { class: "picture", tabindex: 0, role: "group", "aria-label": "Differences paper by paper" }, strip(board, leads, test, Math.max(300, byId("compare").clientWidth - 26))),
    make("figcaption", {}, `${board.title}: ${one} less ${other}, one dot a paper. Dashed: the mean; grey: its 90% interval.`)),
    make("div", { class: "sides" }, furthest(`${one} leads furthest`, leads.filter(([, lead]) => lead > 0).slice(0, 3), board), furthest(`${other} leads furthest`, leads.filter(([, lead]) => lead < 0).slice(-3).reverse(), board)),
    make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "The two by metric" }, make("table", { id: "table-pair" }, make("caption", {}, `${one} less ${other}, by metric; p of each question asked alone.`),
      make("thead", {}, make("tr", {}, ...["Metric", "Difference", "90% interval", "p", "Papers"].map((name, n) => make("th", { scope: "col", class: n ? null : "name" }, name)))), make("tbody", {}, ...rows))));
  watch(out);
};

if (data && data.boards.some((board) => board.tests.length)) {
  for (const id of ["one", "other"]) {
    byId(id).append(...names.map((name) => make("option", { value: name }, name)));
    byId(id).addEventListener("change", () => change({ one: byId("one").value, other: byId("other").value }));
  }
  byId("swap").addEventListener("click", () => change({ one: byId("other").value, other: byId("one").value }));
  byId("compare").hidden = false;
  drawings.push(drawPair);
  addEventListener("resize", () => drawPair(place()));
}
if (data && !drawings.includes(drawPair)) for (const link of all('a[href="#compare"]')) link.remove();
address.shown(show);
// A link to a comparison leads to it.
if (data && address.get("one")) byId("compare").scrollIntoView();
