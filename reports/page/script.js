// What a page without this script lacks: a switch between light and dark, sorting, and charts that answer to pointing, zoom, other
// scales and hidden series. Everything is drawn from the data in the page; nothing is loaded.

// ---- light and dark
const themes = ["system", "light", "dark"];
const root = document.documentElement;
const remembered = () => { try { return localStorage.getItem("pulley-theme"); } catch { return null; } };
const remember = (name) => { try { localStorage.setItem("pulley-theme", name); } catch { /* a page without storage forgets */ } };
const themeButton = make("button", { type: "button", class: "theme" });
const setTheme = (name) => {
  if (name === "system") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", name);
  themeButton.textContent = `Theme: ${name}`;
  themeButton.dataset.theme = name;
};
setTheme(themes.includes(remembered()) ? remembered() : "system");
themeButton.addEventListener("click", () => {
  const next = themes[(themes.indexOf(themeButton.dataset.theme) + 1) % themes.length];
  setTheme(next);
  remember(next);
});
document.querySelector("header").append(themeButton);

// ---- charts are drawn at their own width once they come near the window
const data = JSON.parse(document.getElementById("chart-data").textContent);
for (const d of data) for (const s of d?.series ?? []) for (const p of s.points) if (p.length === 2) p.push(p[1], p[1], 0, 0, 0); // as PointData is written
const charts = new Map();
const near = new IntersectionObserver((entries) => {
  for (const e of entries) {
    if (!e.isIntersecting) continue;
    near.unobserve(e.target);
    charts.get(e.target).show();
  }
}, { rootMargin: "600px 0px" });
document.querySelectorAll("figure.plot").forEach((figure, i) => {
  if (!data[i]?.series.length) return;
  charts.set(figure, new Chart(figure, data[i], i));
  near.observe(figure);
});

// ---- tables
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent.trim();
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === ""); // What is missing stands last.
    const x = Number(a), y = Number(b);
    return isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y;
  };
  heads.forEach((head, i) => {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [value(row, i), row]);
      rows.sort(([a], [b]) => (down && a !== "" && b !== "" ? -compare(a, b) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

// Only what scrolls needs the keyboard.
const scrolls = new ResizeObserver((entries) => {
  for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth + 1 ? 0 : -1;
});
document.querySelectorAll(".scroll, pre").forEach((e) => scrolls.observe(e));

// ---- paper has what is folded
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  for (const d of unfolded) d.open = true;
});
addEventListener("afterprint", () => {
  for (const d of unfolded) d.open = false;
  unfolded = [];
});
