// Follows a run: puts what the server says in its places, and reloads the page when the run is over.
"use strict";
(() => {
  const main = document.querySelector("main");
  if (!main.dataset.events || !window.EventSource) return;
  const place = (name) => document.getElementById(name);
  const fill = (list, lines) => list.replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
  const source = new EventSource(main.dataset.events);
  source.addEventListener("message", (event) => {
    const run = JSON.parse(event.data);
    if (run.over) {
      source.close();
      location.reload();
      return;
    }
    for (const name of ["answer", "counts", "detail", "warning"]) place(name).textContent = run[name];
    place("sign").textContent = run.sign;
    place("state").textContent = run.state;
    const bar = place("share");
    if (run.share === null) bar.removeAttribute("value"); else bar.value = run.share;
    fill(place("lines"), run.lines);
    fill(place("files"), run.files);
    document.title = (run.share === null ? "" : Math.floor(100 * run.share) + " % – ") + run.answer;
  });
})();
