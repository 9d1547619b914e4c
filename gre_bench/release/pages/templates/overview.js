// Follows status.json: what each run says of itself, every two seconds while the page is seen.
const minutes = (seconds) => seconds === undefined ? "" : seconds < 90 ? `${Math.round(seconds)} s left` : seconds < 5400 ? `${Math.round(seconds / 60)} min left` : `${(seconds / 3600).toFixed(1)} h left`;
const number = (value) => Number(value).toLocaleString("en");
const report = (row, found) => {
  const bar = row.querySelector("progress"), going = found.state === "running";
  row.querySelector(".run").textContent = going ? found.stage : `${found.state}${found.message ? `: ${found.message}` : ""}`;
  row.querySelector(".said-of").textContent = found.board;
  bar.hidden = !(going && found.due);
  if (found.due) bar.value = found.done / found.due;
  const scored = (found.metrics || []).reduce((sum, one) => sum + one.scored, 0), planned = (found.metrics || []).reduce((sum, one) => sum + one.planned - one.excluded, 0);
  row.querySelector(".told").textContent = going
    ? [found.due ? `${number(found.done)} of ${number(found.due)}` : "", found.done && found.pairs_per_s ? `${Number(found.pairs_per_s.toPrecision(3))} a second` : "", found.done ? minutes(found.remaining_s) : ""].filter(Boolean).join(", ")
    : planned ? `${number(scored)} of ${number(planned)} pairs scored` : "";
};
const rowOf = (key) => all("#table-editions tbody tr").find((row) => row.dataset.edition === key);
const show = (editions) => {
  for (const found of editions) if (rowOf(found.edition)) report(rowOf(found.edition), found);
  // A new edition or release makes another page.
  const known = [...all("#table-editions tbody tr").map((row) => row.dataset.edition), ...all("#table-editions a").map((link) => link.textContent)];
  const there = editions.flatMap((one) => [one.edition, ...(one.has_pages ? [one.edition] : []), ...one.releases]);
  if (known.sort().join() !== there.sort().join()) location.reload();
};
const follow = async () => {
  if (!document.hidden) {
    try {
      const answer = await fetch("/status.json");
      show(await answer.json());
      byId("followed").textContent = "Editions, their runs and releases; read only.";
    } catch {
      byId("followed").textContent = "The server does not answer: start it again with gre-bench view.";
    }
  }
  setTimeout(follow, 2000);
};
show(JSON.parse(byId("numbers").textContent));
setTimeout(follow, 500);
