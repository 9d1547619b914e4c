"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;

  const theme = document.getElementById("theme");
  const stored = () => { try { return localStorage.getItem("gre-bench-theme"); } catch { return null; } };
  const wear = (name) => {
    root.dataset.theme = name;
    theme.textContent = name === "dark" ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to the ${name === "dark" ? "light" : "dark"} theme`);
  };
  wear(stored() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  theme.hidden = false;
  theme.addEventListener("click", () => {
    wear(root.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("gre-bench-theme", root.dataset.theme); } catch { /* a page from disk may keep nothing */ }
  });

  const tabs = all('[role="tab"]');
  const open = (tab, focus) => {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (focus) tab.focus();
  };
  if (tabs.length) {
    tabs[0].parentElement.hidden = false;
    open(tabs.find((tab) => `#${tab.getAttribute("aria-controls")}` === location.hash) || tabs[0]);
    tabs.forEach((tab, place) => {
      tab.addEventListener("click", () => open(tab));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        open(tabs[(to + tabs.length) % tabs.length], true);
      });
    });
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.v ?? cell.textContent.trim();
    return text === "" ? null : cell.dataset.v !== undefined && !Number.isNaN(Number(text)) ? Number(text) : text;
  };
  for (const button of all("th button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th"), table = head.closest("table"), column = head.cellIndex;
      const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : "down" in head.dataset;
      for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = all("tbody tr", table).map((row, place) => [value(row, column), place, row]);
      rows.sort(([one, first], [other, second]) => {
        if (one === null || other === null) return (one === null) - (other === null) || first - second;
        const order = typeof one === "number" && typeof other === "number" ? one - other
          : String(one).localeCompare(String(other), undefined, { numeric: true });
        return (down ? -order : order) || first - second;
      });
      table.tBodies[0].append(...rows.map(([, , row]) => row));
    });
  }

  for (const tools of all(".tools[data-for]")) {
    const table = document.getElementById(tools.dataset.for);
    const words = tools.querySelector('input[type="search"]'), kinds = all("input[data-kind]", tools);
    const count = tools.querySelector(".count");
    const apply = () => {
      const asked = words.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      const off = kinds.filter((box) => !box.checked).map((box) => box.dataset.kind);
      let shown = 0;
      const rows = all("tbody tr", table);
      for (const row of rows) {
        const text = row.dataset.find || row.textContent.toLowerCase();
        row.hidden = off.includes(row.dataset.kind) || !asked.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    };
    tools.addEventListener("input", apply);
    tools.hidden = false;
    const columns = tools.querySelector(".columns");
    if (columns) columns.addEventListener("click", () => {
      const wide = table.classList.toggle("all");
      columns.textContent = wide ? "Fewer columns" : "All columns";
    });
  }

  const data = document.getElementById("gains");
  if (data) {
    const boards = JSON.parse(data.textContent);
    const metric = document.getElementById("metric"), candidate = document.getElementById("candidate");
    const edges = [2, 8, 20, 40];  // tenths of a nat
    const level = (gain) => { const n = edges.filter((edge) => Math.abs(gain) >= edge).length; return n ? `${gain > 0 ? "p" : "n"}${n}` : ""; };
    const signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(1)}`;
    const draw = () => {
      const board = boards[metric.value];
      const rows = board.rows.filter((row) => row.candidate === candidate.value);
      board.references.forEach((reference, place) => {
        const box = document.getElementById(`heat-${place}`), said = document.getElementById(`said-${place}`);
        const row = rows.find((one) => one.reference === place);
        const gains = row ? row.gains.split(",").map(Number) : [];
        said.textContent = row ? `${signed(row.value)} ${board.unit}` : "no score";
        box.classList.toggle("withheld", !reference.pieces);
        box.replaceChildren(...gains.flatMap((gain, token) => {
          const piece = reference.pieces ? reference.pieces[token] : "", word = piece.trimStart();
          const span = document.createElement("span");
          span.textContent = word;
          span.className = level(gain);
          span.title = `${signed(gain / 10)} nats`;
          return [piece.slice(0, piece.length - word.length), span];
        }));
      });
    };
    metric.addEventListener("change", draw);
    candidate.addEventListener("change", draw);
    document.getElementById("choose").hidden = false;
    draw();
  }
})();
