// Lets a reader sort a table by any column. The page says everything without it.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent.trim();
  const compare = (a, b) => {
    const x = parseFloat(a), y = parseFloat(b);
    if (a === "" || b === "") return (a === "") - (b === ""); // What is missing stands last.
    return isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y;
  };
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [value(row, i), row]);
      const missing = (v) => v === "";
      rows.sort(([a], [b]) => (down && !missing(a) && !missing(b) ? -compare(a, b) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
