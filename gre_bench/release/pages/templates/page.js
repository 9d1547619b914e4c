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
    const hides = () => all("th", table).some((head) => getComputedStyle(head).display === "none");
    const offer = () => { columns.hidden = table.classList.contains("few") && table.offsetParent !== null && !hides(); };
    if (columns) addEventListener("resize", offer);
    if (columns) offer();
    if (columns) columns.addEventListener("click", () => {
      const few = table.classList.toggle("few");
      table.parentElement.classList.toggle("wide", !few && table.scrollWidth > table.parentElement.clientWidth);
      columns.setAttribute("aria-pressed", !few);
      columns.textContent = few ? "All columns" : "Fewer columns";
    });
  }

  // One tooltip for all: what data-tip says, or what a point of a figure is called, on hover and on focus.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  const POINT = '[aria-roledescription="point"]';
  let told = null;
  const hush = () => { tip.hidden = true; if (told) told.removeAttribute("aria-describedby"); told = null; };
  const tell = (target) => {
    hush();
    tip.textContent = target.dataset.tip || target.getAttribute("aria-label");
    tip.hidden = false;
    told = target;
    if (target.dataset.tip) target.setAttribute("aria-describedby", "tip");
    const at = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = at.top - own.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  };
  const tellable = (event) => event.target instanceof Element ? event.target.closest(`[data-tip], ${POINT}`) : null;
  document.addEventListener("pointerover", (event) => { const found = tellable(event); if (found) tell(found); else hush(); });
  document.addEventListener("focusin", (event) => { const found = tellable(event); if (found) tell(found); else hush(); });
  document.addEventListener("focusout", hush);
  document.addEventListener("scroll", () => {
    const held = told && [told, told.closest(".picture")].includes(document.activeElement);
    if (held) tell(told); else hush();
  }, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hush(); });

  for (const picture of all(".picture")) {
    const points = all(POINT, picture);
    const left = (point) => point.getBoundingClientRect().left;
    let place = -1;
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !points.length) return;
      event.preventDefault();
      if (place >= 0) points[place].classList.remove("at");
      else points.sort((one, other) => left(one) - left(other));
      place = (place + step + points.length) % points.length;
      points[place].classList.add("at");
      points[place].scrollIntoView({ block: "nearest", inline: "nearest" });
      requestAnimationFrame(() => requestAnimationFrame(() => tell(points[place])));
    });
    picture.addEventListener("blur", () => { if (place >= 0) points[place].classList.remove("at"); });
  }

  const data = document.getElementById("gains");
  if (data) {
    const boards = JSON.parse(data.textContent);
    const hint = document.getElementById("withheld");
    const metric = document.getElementById("metric"), candidate = document.getElementById("candidate");
    const edges = [2, 8, 20, 40];  // tenths of a nat
    const level = (gain) => { const n = edges.filter((edge) => Math.abs(gain) >= edge).length; return n ? `${gain > 0 ? "p" : "n"}${n}` : ""; };
    const signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(1)}`;
    const draw = () => {
      const board = boards[metric.value];
      if (hint) hint.hidden = board.references.every((reference) => reference.pieces);
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
          span.dataset.tip = `${word.trim() ? `“${word.trim()}”: ` : ""}${signed(gain / 10)} nats`;
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
