// The tokens of the human reviews, coloured by how much likelier a candidate's review made each.
const data = byId("numbers") && byId("numbers").textContent ? JSON.parse(byId("numbers").textContent) : [];
const metric = byId("metric"), candidate = byId("candidate"), hint = byId("withheld");
const EDGES = [2, 8, 20, 40];  // tenths of a nat
const level = (gain) => { const n = EDGES.filter((edge) => Math.abs(gain) >= edge).length; return n ? `${gain > 0 ? "p" : "n"}${n}` : ""; };
const draw = () => {
  if (data.some((board) => board.metric === address.get("metric"))) metric.value = address.get("metric");
  else metric.selectedIndex = 0;
  const names = [...candidate.options].map((option) => option.value);
  const fallback = names.find((name) => name !== "human") || names[0];  // human is no score of its own reference
  candidate.value = names.includes(address.get("candidate")) ? address.get("candidate") : fallback;
  const board = data.find((one) => one.metric === metric.value);
  if (hint) hint.hidden = board.references.every((reference) => reference.pieces);
  board.references.forEach((reference, place) => {
    const row = board.rows.find((one) => one.candidate === candidate.value && one.reference === place);
    const gains = row ? row.gains.split(",").map(Number) : [], box = byId(`heat-${place}`);
    byId(`said-${place}`).textContent = row ? `${signed(row.value, 1)} ${board.unit}` : "no score";
    box.classList.toggle("withheld", !reference.pieces);
    box.replaceChildren(...gains.flatMap((gain, token) => {
      const piece = reference.pieces ? reference.pieces[token] : "", word = piece.trimStart();
      const tipped = `${word.trim() ? `“${word.trim()}”: ` : ""}${signed(gain / 10, 1)} nats`;
      return [piece.slice(0, piece.length - word.length), make("span", { class: level(gain), "data-tip": tipped }, word)];
    }));
  });
};
if (data.length) {
  for (const select of [metric, candidate]) select.addEventListener("change", () => { address.put({ metric: metric.value, candidate: candidate.value }); draw(); });
  byId("choose").hidden = false;
  address.shown(draw);
}
