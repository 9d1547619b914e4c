const tabs = all('[role="tab"]'), panels = all(".panel"), tools = byId("tools");
const tablesOf = (panel) => all("table.tabled", panel);  // the board, then its groups
const box = tools.querySelector('input[type="search"]'), kinds = all("input[data-kind]", tools);
const columns = tools.querySelector(".columns");
const data = byId("numbers") ? JSON.parse(byId("numbers").textContent) : null;
const drawings = [];  // what else shows the view: functions of the board's place

const metricAt = (place) => tabs.length ? tabs[place].dataset.metric : "";
const place = () => Math.max(0, tabs.findIndex((tab) => tab.dataset.metric === address.get("metric")));

const show = () => {
  const open = place(), [key, way] = [address.get("sort").replace(/\.(up|down)$/, ""), address.get("sort").endsWith(".down")];
  const off = address.get("hide").split(" "), wide = address.get("columns") === "all";
  tabs.forEach((tab, n) => { tab.setAttribute("aria-selected", n === open); tab.tabIndex = n === open ? 0 : -1; });
  panels.forEach((panel, n) => { panel.hidden = n !== open; });
  if (box.value !== address.get("find")) box.value = address.get("find");
  for (const kind of kinds) kind.checked = !off.includes(kind.dataset.kind);
  panels.forEach((panel, n) => {
    const counts = tablesOf(panel).map((table) => {
      const head = key ? all("th[data-key]", table).find((one) => one.dataset.key === key) : null;
      sortTable(table, head?.cellIndex, head && way);
      markSorted(table, head || table.querySelector("th"), Boolean(head) && way);
      table.classList.toggle("few", !wide);
      return filterTable(table, address.get("find"), (row) => !off.includes(row.dataset.kind));
    });
    tablesOf(panel).forEach((table, place) => { table.parentElement.hidden = counts.length > 1 && !counts[place][0]; });
    const [shown, of] = counts.reduce(([some, all], [more, rows]) => [some + more, all + rows]);
    sayEmpty(tablesOf(panel)[0], shown, address.get("find"));
    if (n === open) tools.querySelector(".count").textContent = shown === of ? "" : `${shown} of ${of}`;
  });
  columns.setAttribute("aria-pressed", wide);
  columns.textContent = wide ? "Fewer columns" : "All columns";
  fit();
  for (const draw of drawings) draw(open);
};
// A table that is broader than its frame scrolls in it; else its head stays in sight as the page scrolls.
const fit = () => {
  const [first, ...groups] = tablesOf(panels[place()]);
  for (const table of [first, ...groups]) {
    const frame = table.parentElement;
    frame.classList.remove("wide");
    frame.classList.toggle("wide", table.scrollWidth > frame.clientWidth);
  }
  columns.hidden = first.classList.contains("few") && !all("th", first).some((head) => getComputedStyle(head).display === "none");
};

const change = (changes, step = true) => { address.put(changes, step); show(); };
tabs.forEach((tab, n) => {
  tab.addEventListener("click", () => change({ metric: n ? metricAt(n) : "" }));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    change({ metric: next ? metricAt(next) : "" });
    tabs[next].focus();
  });
});
if (tabs.length) tabs[0].parentElement.hidden = false;
tools.hidden = false;
box.addEventListener("input", () => change({ find: box.value }, false));
for (const kind of kinds) kind.addEventListener("change", () => change({ hide: kinds.filter((one) => !one.checked).map((one) => one.dataset.kind).join(" ") }));
columns.addEventListener("click", () => change({ columns: columns.getAttribute("aria-pressed") === "true" ? "" : "all" }));
for (const button of all("table.tabled th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), down = nextWay(head);
    change({ sort: head.dataset.key === "rank" && !down ? "" : `${head.dataset.key}.${down ? "down" : "up"}` });
  });
}
for (const button of all(".panel .empty button")) button.addEventListener("click", () => { change({ find: "", hide: "" }); box.focus(); });
addEventListener("resize", fit);
