const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

// An element by its name (of SVG: "svg:path"), its attributes, and its children; texts are never read as markup.
const make = (name, attributes = {}, ...children) => {
  const [space, tag] = name.startsWith("svg:") ? ["http://www.w3.org/2000/svg", name.slice(4)] : ["http://www.w3.org/1999/xhtml", name];
  const element = document.createElementNS(space, tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
};

// What a view shows stands in the fragment as key=value pairs: a link is a view, and "back" is the view before it.
const address = {
  view: new URLSearchParams(),
  read() {
    const hash = location.hash.slice(1);
    if (!hash || hash.includes("=")) address.view = new URLSearchParams(hash);
  },
  get: (key) => address.view.get(key) || "",
  put(changes, step = true) {
    const before = address.view.toString();
    for (const [key, value] of Object.entries(changes)) if (value) address.view.set(key, value); else address.view.delete(key);
    const now = address.view.toString();
    if (now !== before) history[step ? "pushState" : "replaceState"](null, "", `#${now}`);
  },
  shown(show) {
    addEventListener("popstate", () => { address.read(); show(); });
    address.read();
    show();
  },
};

{
  const root = document.documentElement, theme = byId("theme");
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
}

// Sorts a table by a column; what has no value stays last. Without a column: as it was written.
const written = new Map();
const sortTable = (table, column, down) => {
  const body = table.tBodies[0];
  if (!written.has(table)) written.set(table, [...body.rows]);
  const value = (row) => {
    const cell = row.cells[column], text = cell.dataset.v ?? cell.textContent.trim();
    return text === "" ? null : cell.dataset.v !== undefined && !Number.isNaN(Number(text)) ? Number(text) : text;
  };
  const rows = written.get(table).map((row, place) => [column === undefined ? place : value(row), place, row]);
  rows.sort(([one, first], [other, second]) => {
    if (one === null || other === null) return (one === null) - (other === null) || first - second;
    const order = typeof one === "number" && typeof other === "number" ? one - other
      : String(one).localeCompare(String(other), undefined, { numeric: true });
    return (down ? -order : order) || first - second;
  });
  body.append(...rows.map(([, , row]) => row));
};
const nextWay = (head) => head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : "down" in head.dataset;
const markSorted = (table, head, down) => {
  for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
  if (head) head.setAttribute("aria-sort", down ? "descending" : "ascending");
};
for (const button of all("table:not(.tabled) th button:not(.word)")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table"), down = nextWay(head);
    sortTable(table, head.cellIndex, down);
    markSorted(table, head, down);
  });
}

// Hides the rows that do not fit; how many are shown, of how many. Where none is left, sayEmpty says so.
const filterTable = (table, text, fits = () => true) => {
  const asked = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const rows = all("tbody tr", table);
  let shown = 0;
  for (const row of rows) {
    const words = row.dataset.find || row.textContent.toLowerCase();
    row.hidden = !(fits(row) && asked.every((word) => words.includes(word)));
    shown += !row.hidden;
  }
  return [shown, rows.length];
};
const sayEmpty = (table, shown, text) => {
  const empty = document.querySelector(`.empty[data-of="${table.id}"]`);
  empty.hidden = shown > 0;
  empty.firstElementChild.textContent = shown ? "" : text.trim() ? `Nothing here fits “${text.trim()}”.` : "Every kind is switched off.";
};
for (const tools of all(".tools[data-for]")) {
  const table = byId(tools.dataset.for), box = tools.querySelector("input");
  const apply = () => {
    const [shown, of] = filterTable(table, box.value);
    sayEmpty(table, shown, box.value);
    tools.querySelector(".count").textContent = shown === of ? "" : `${shown} of ${of}`;
  };
  box.addEventListener("input", apply);
  document.querySelector(`.empty[data-of="${table.id}"] button`).addEventListener("click", () => { box.value = ""; apply(); box.focus(); });
  tools.hidden = false;
}

// One tooltip for all: what data-tip says, or what a point is called, on hover, on focus and on a tap.
const tip = make("div", { class: "tip", id: "tip", role: "tooltip" });
tip.hidden = true;
document.body.append(tip);
const POINT = '[aria-roledescription="point"]';
let told = null;
const hush = () => { tip.hidden = true; if (told) told.removeAttribute("aria-describedby"); told = null; };
const near = (own, at) => {
  const left = Math.min(Math.max(8, at.left + at.width / 2 - own.offsetWidth / 2), innerWidth - own.offsetWidth - 8);
  const above = at.top - own.offsetHeight - 8;
  return [`${left}px`, `${above > 4 ? above : at.bottom + 8}px`];
};
const tell = (target) => {
  hush();
  tip.textContent = target.dataset.tip || target.getAttribute("aria-label");
  tip.hidden = false;
  told = target;
  if (target.dataset.tip) target.setAttribute("aria-describedby", "tip");
  [tip.style.left, tip.style.top] = near(tip, target.getBoundingClientRect());
};
for (const event of ["pointerover", "focusin", "click"]) {
  document.addEventListener(event, ({ target }) => {
    const found = target instanceof Element ? target.closest(`[data-tip], ${POINT}`) : null;
    if (found) tell(found); else hush();
  });
}
document.addEventListener("focusout", hush);
document.addEventListener("scroll", () => {
  const held = told && [told, told.closest(".picture")].includes(document.activeElement);
  if (held) tell(told); else hush();
}, true);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  hush();
  for (const pop of all(":popover-open")) pop.hidePopover();
});

// The details of a badge open below it.
for (const button of all("[popovertarget]")) {
  const pop = byId(button.getAttribute("popovertarget"));
  pop.addEventListener("toggle", () => {
    if (!pop.matches(":popover-open")) return;
    const at = button.getBoundingClientRect();
    pop.style.left = `${Math.max(8, Math.min(at.left, innerWidth - pop.offsetWidth - 8))}px`;
    pop.style.top = `${Math.max(8, Math.min(at.bottom + 6, innerHeight - pop.offsetHeight - 8))}px`;
  });
}

byId("sections").addEventListener("click", ({ target }) => {
  if (target.closest("a") && target.closest(":popover-open")) byId("sections").hidePopover();
});

// The points of a picture are reached by the arrow keys, from left to right; Enter opens one that is a link.
for (const picture of all(".picture")) {
  let at = null;
  const leave = () => { if (at) at.classList.remove("at"); };
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && at?.closest("a")) at.closest("a").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const points = all(POINT, picture).sort((one, other) => one.getBoundingClientRect().left - other.getBoundingClientRect().left);
    if (!step || !points.length) return;
    event.preventDefault();
    leave();
    const place = points.indexOf(at);
    at = points[place < 0 ? (step > 0 ? 0 : points.length - 1) : (place + step + points.length) % points.length];
    at.classList.add("at");
    at.scrollIntoView({ block: "nearest", inline: "nearest" });
    requestAnimationFrame(() => requestAnimationFrame(() => tell(at)));
  });
  picture.addEventListener("blur", leave);
}

// A number that is cut off reads as another number: a table that scrolls shows whole columns, and names the others.
const wholeColumns = (box) => {
  const table = box.firstElementChild, caption = table.caption;
  box.style.maxWidth = "";
  caption.querySelector(".beyond")?.remove();
  const heads = all("thead th", table).filter((head) => head.offsetWidth), left = box.getBoundingClientRect().left + 1 - box.scrollLeft;
  const ends = heads.map((head) => head.getBoundingClientRect().right - left), fit = ends.filter((end) => end <= box.clientWidth + 1).length;
  const cut = table.scrollWidth > box.clientWidth + 1 && fit > 1 && fit < heads.length;
  box.classList.toggle("cut", cut);
  if (cut) box.style.maxWidth = `${Math.ceil(ends[fit - 1]) + 2}px`;
  box.style.setProperty("--seen", `${box.clientWidth}px`);
  if (cut) caption.append(make("span", { class: "beyond" }, `To the right: ${heads.slice(fit).map((head) => (head.firstElementChild ?? head).textContent.trim()).join(", ")}.`));
};
const frames = new ResizeObserver((seen) => { for (const { target } of seen) wholeColumns(target.parentElement); });
const watch = (within) => { for (const table of all(".scroll > table", within)) frames.observe(table); };
watch(document);
addEventListener("resize", () => all(".scroll").forEach(wholeColumns));

// Numbers as the rest of the page writes them.
const signed = (value, digits = 2) => (Number(value.toFixed(digits)) + 0 < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
const inText = (p) => p < 0.001 ? "<0.001" : p.toFixed(3);
// Round values in [low, high]: about *count* of them, steps 1, 2 or 5 times a power of ten.
const ticks = (low, high, count = 5) => {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n += 1) found.push(Number((n * step).toPrecision(12)));
  return found;
};
const plainly = (value) => String(value).replace("-", "−");
