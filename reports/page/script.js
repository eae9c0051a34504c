// What a page without this script lacks: a switch between light and dark, sorting, and charts that answer to pointing, zoom, other
// scales and hidden series. Everything is drawn from the data in the page; nothing is loaded.
"use strict";
(() => {
  const make = (tag, attributes = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    e.append(...children);
    return e;
  };
  const draw = (tag, attributes = {}, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    if (text !== undefined) e.textContent = text;
    return e;
  };

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

  // ---- figures, as package units writes them
  const thousands = (v) => { // not toLocaleString, which differs between readers
    const sign = v < 0 ? "-" : "";
    return sign + String(Math.abs(Math.round(v))).replace(/\B(?=(\d{3})+$)/g, ",");
  };
  const number = (v) => {
    const size = Math.abs(v);
    if (v === 0) return "0";
    if (size >= 999.5) return size < 1e15 ? thousands(v) : v.toExponential(2);
    if (size < 0.0001) return v.toExponential(2);
    return String(v.toPrecision(3));
  };
  const inUnits = (v, units, format) => {
    let [name, size] = units[0];
    for (const [n, s] of units) if (Math.abs(v) >= 0.9995 * s) [name, size] = [n, s];
    return `${format(v / size)} ${name}`;
  };
  const times = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
  const bytes = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9]];
  const percentile = (v) => "p" + (100 * (1 - 1 / v)).toFixed(Math.max(0, Math.ceil(Math.log10(v) - 1e-9) - 2));
  const formats = {
    ns: (v) => inUnits(v, times, number), s: (v) => inUnits(v * 1e9, times, number), bytes: (v) => inUnits(v, bytes, number),
    share: (v) => number(100 * v) + " %", "×": (v) => number(v) + "×", percentile,
  };
  const format = (unit, v) => (formats[unit] ?? number)(v);
  const shortNumber = (v) => (v >= 99.9 ? thousands(v) : v < 0.999 ? String(+v.toPrecision(2)) : String(+v.toFixed(1)));
  const tickNumber = (v) => (v >= 999999999 ? shortNumber(v / 1e9) + "G" : v >= 999999 ? shortNumber(v / 1e6) + "M" : v >= 9999 ? shortNumber(v / 1e3) + "k" : shortNumber(v));
  const tickFormats = { ns: (v) => inUnits(v, times, shortNumber), bytes: (v) => inUnits(v, bytes, shortNumber), share: (v) => tickNumber(100 * v) + " %", "×": (v) => tickNumber(v) + "×", percentile };
  const tick = (unit, v) => (v === 0 ? "0" : v < 0 ? "-" + tick(unit, -v) : (tickFormats[unit] ?? tickNumber)(v));

  // ---- axes
  const steps = [1, 2, 5];
  const roundStep = (v) => {
    const decade = 10 ** Math.floor(Math.log10(v));
    return (steps.find((s) => s * decade >= v * (1 - 1e-9)) ?? 10) * decade;
  };
  const ticksOf = (axis, [lo, hi], most) => {
    if (axis.scale === "rows") return [];
    const out = [];
    if (axis.scale === "linear") {
      const step = roundStep((hi - lo) / most);
      for (let i = Math.ceil(lo / step); i * step <= hi && out.length < 100; i++) out.push(i * step);
      return out;
    }
    for (let d = Math.floor(Math.log10(lo)); d <= Math.log10(hi); d++) for (const s of steps) out.push(s * 10 ** d);
    let inside = out.filter((v) => v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9));
    if (inside.length > most) inside = inside.filter((v) => Number.isInteger(+Math.log10(v).toFixed(6)));
    const every = Math.ceil(inside.length / most);
    if (inside.length < 2) return ticksOf({ ...axis, scale: "linear" }, [lo, hi], most);
    return inside.filter((_, i) => i % every === 0);
  };
  const share = (axis, v, [lo, hi]) => (axis.scale === "log" ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo));
  const valueAt = (axis, s, [lo, hi]) => (axis.scale === "log" ? lo * (hi / lo) ** s : lo + s * (hi - lo));

  // ---- a chart
  const [X, Y, LO, HI, TO, TOP, VALUE] = [0, 1, 2, 3, 4, 5, 6];
  const role = (s) => (s.neutral ? "faint" : "s" + (s.style % 8));
  const dashes = ["", "7 3", "2 2.5", "8 3 2 3"], neutralDashes = ["", "3 2.5", "1.5 2", "6 2"];
  const marker = (s, x, y) => {
    const i = s.neutral ? 5 : s.style % 8, r = 4.4, cls = `f-${role(s)}`;
    const corners = (...pairs) => "M" + pairs.map(([a, b]) => `${x + a} ${y + b}`).join("L") + "Z";
    switch (i) {
      case 0: return draw("circle", { cx: x, cy: y, r, class: cls });
      case 1: return draw("path", { d: corners([0, -5.5], [5.5, 0], [0, 5.5], [-5.5, 0]), class: cls });
      case 2: return draw("path", { d: corners([0, -5.2], [5, 3.6], [-5, 3.6]), class: cls });
      case 3: return draw("path", { d: corners([-4, -4], [4, -4], [4, 4], [-4, 4]), class: cls });
      case 4: return draw("path", { d: corners([0, 5.2], [5, -3.6], [-5, -3.6]), class: cls });
      case 5: return draw("circle", { cx: x, cy: y, r: 3.6, class: `l-${role(s)}`, "stroke-width": 1.6 });
      case 6: return draw("path", { d: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x - 4} ${y + 4}L${x + 4} ${y - 4}`, class: `l-${role(s)}`, "stroke-width": 1.6 });
    }
    return draw("path", { d: `M${x - 5} ${y}L${x + 5} ${y}M${x} ${y - 5}L${x} ${y + 5}`, class: `l-${role(s)}`, "stroke-width": 1.6 });
  };

  class Chart {
    constructor(figure, data) {
      this.figure = figure;
      this.data = data;
      this.canvas = figure.querySelector(".canvas");
      this.hidden = new Set();
      this.zoomed = [];
      this.own = null; // our drawing, once the reader changed something
      this.scales = { x: data.x.scale, y: data.y.scale };
      if (!data.series.length) return;
      this.legend();
      this.tools();
      this.tip = make("div", { class: "tip off", role: "status" });
      this.canvas.append(this.tip);
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "group");
      this.canvas.setAttribute("aria-label", `${data.title}: arrow keys go from point to point, plus and minus zoom, 0 shows all`);
      this.listen();
    }

    axis(name) { return { ...this.data[name], scale: this.scales[name] }; }

    // the frame of what is seen: ours, or that of the drawing in the page
    get svg() { return this.own ?? [...this.canvas.querySelectorAll("svg")].find((s) => s.getBoundingClientRect().width > 0); }
    get frame() { return this.own ? this.ownFrame : JSON.parse(this.svg?.dataset.frame ?? "null"); }

    legend() {
      for (const item of this.figure.querySelectorAll(".legend li")) {
        const entry = Number(item.dataset.entry);
        if (!this.data.series.some((s) => s.entry === entry)) continue;
        const button = make("button", { type: "button", "aria-pressed": "true", title: "Hide or show" }, ...item.childNodes);
        item.append(button);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(entry)) this.hidden.add(entry);
          button.setAttribute("aria-pressed", String(!this.hidden.has(entry)));
          this.redraw();
        });
      }
    }

    tools() {
      this.bar = make("div", { class: "tools" });
      const add = (text, label, act) => {
        const b = make("button", { type: "button", title: label }, text);
        b.addEventListener("click", () => act(b));
        this.bar.append(b);
        return b;
      };
      for (const name of ["x", "y"]) {
        if (this.data[name].scale === "rows" || this.data[name].unit === "percentile" || !this.canBeLog(name)) continue;
        const text = () => `${this.data[name].label || name}: ${this.scales[name] === "log" ? "log" : "linear"}`;
        const b = add(text(), "Change the scale of this axis", () => {
          this.scales[name] = this.scales[name] === "log" ? "linear" : "log";
          this.zoomed = [];
          b.textContent = text();
          this.redraw();
        });
        b.dataset.scale = name;
      }
      this.all = add("Show all", "Undo the zoom", () => { this.zoomed = []; this.redraw(); });
      this.all.classList.add("off");
      this.figure.append(this.bar);
    }

    canBeLog(name) {
      const i = name === "x" ? X : Y;
      return this.data.series.every((s) => s.kind !== "cells" && s.kind !== "spans" && s.kind !== "area" && s.points.every((p) => p[i] > 0));
    }

    shown() { return this.data.series.filter((s) => !this.hidden.has(s.entry)); }

    limits(name) {
      const axis = this.axis(name), rows = this.data.y.scale === "rows", i = name === "x" ? X : Y;
      if (axis.scale === "rows") return [-0.5, axis.names.length - 0.5];
      let lo = Infinity, hi = -Infinity;
      const add = (v) => { if (axis.scale !== "log" || v > 0) { lo = Math.min(lo, v); hi = Math.max(hi, v); } };
      for (const s of this.shown()) {
        for (const p of s.points) {
          add(p[i]);
          if ((name === "x") === rows && s.kind !== "spans" && s.kind !== "cells") { add(p[LO]); add(p[HI]); }
          if (name === "x" && (s.kind === "spans" || s.kind === "cells")) add(p[TO]);
          if (name === "y" && s.kind === "cells") add(p[TOP]);
        }
      }
      for (const r of this.data.rules ?? []) if (Boolean(r.upright) === (name === "x")) add(r.at);
      if (!(lo <= hi)) return axis.scale === "log" ? [1, 10] : [0, 1];
      if (axis.scale === "log") return lo * 1.12 < hi ? [lo / 1.12, hi * 1.12] : [lo / 2, hi * 2];
      if (!axis.free) { lo = Math.min(lo, 0); hi = Math.max(hi, 0); }
      const room = 0.05 * (hi - lo) || Math.abs(hi) * 0.1 || 1;
      return [axis.free ? lo - room : lo, hi + room];
    }

    redraw() {
      const last = this.zoomed.at(-1);
      this.all.classList.toggle("off", !last);
      const width = Math.max(this.canvas.clientWidth, 260);
      const rows = this.data.y.scale === "rows", names = this.data.y.names ?? [], above = rows && width < 480;
      const row = above ? 54 : names.length > 30 ? 18 : 34;
      const height = rows ? names.length * row + 46 : Math.max(Math.min(width * 0.52, 400), 230) * (this.data.low ? 0.62 : 1);
      const longest = Math.max(0, ...names.map((n) => n.length));
      const frame = {
        left: rows ? (above ? 8 : Math.min(longest * 6.6, width * 0.3) + 12) : 74, right: width - 16, top: 8, bottom: height - 40,
        x: last?.x ?? this.limits("x"), y: last?.y ?? this.limits("y"),
      };
      const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": this.data.title });
      this.ownFrame = frame;
      const at = this.placing(frame);
      this.drawAxes(svg, frame, at, { width, height, above });
      const clip = `clip-${this.data.name}-${this.figure.dataset.place}`;
      const defs = draw("defs"), path = draw("clipPath", { id: clip });
      path.append(draw("rect", { x: frame.left - 7, y: frame.top - 7, width: frame.right - frame.left + 14, height: frame.bottom - frame.top + 14 }));
      defs.append(path);
      svg.append(defs);
      const inside = draw("g", { "clip-path": `url(#${clip})` });
      svg.append(inside);
      for (const s of this.shown()) {
        const g = draw("g", { class: "series", "data-series": s.entry });
        this.drawSeries(g, s, at);
        inside.append(g);
      }
      if (this.own) this.own.replaceWith(svg);
      else {
        for (const d of this.canvas.querySelectorAll(":scope > div:not(.tip)")) d.classList.add("off");
        this.canvas.prepend(svg);
      }
      this.own = svg;
      this.point(null);
    }

    placing(frame) {
      const x = this.axis("x"), y = this.axis("y");
      return {
        x: (v) => frame.left + share(x, v, frame.x) * (frame.right - frame.left),
        y: (v) => (y.scale === "rows" ? frame.top + ((v + 0.5) / y.names.length) * (frame.bottom - frame.top)
          : frame.bottom - share(y, v, frame.y) * (frame.bottom - frame.top)),
      };
    }

    drawAxes(svg, frame, at, { width, height, above }) {
      const x = this.axis("x"), y = this.axis("y");
      for (const b of this.data.bands ?? []) {
        const from = Math.max(at.x(b.from), frame.left), to = Math.min(Math.max(at.x(b.to), from + 1.2), frame.right);
        if (!(to > from)) continue;
        svg.append(draw("rect", { class: b.top ? `f-s${(b.style ?? 0) % 8}` : "f-band", x: from, y: frame.top, width: to - from, height: (frame.bottom - frame.top) / (b.top ? 12 : 1) }));
      }
      for (const v of ticksOf(x, frame.x, Math.max(3, Math.floor(width / 90)))) {
        svg.append(draw("path", { class: "l-grid", "stroke-width": 0.8, d: `M${at.x(v)} ${frame.top}V${frame.bottom}` }),
          draw("text", { class: "f-ink", "font-size": 11, x: at.x(v), y: frame.bottom + 16, "text-anchor": "middle" }, tick(x.unit, v)));
      }
      for (const v of ticksOf(y, frame.y, Math.max(3, Math.min(8, Math.floor(height / 46))))) {
        svg.append(draw("path", { class: "l-grid", "stroke-width": 0.8, d: `M${frame.left} ${at.y(v)}H${frame.right}` }),
          draw("text", { class: "f-ink", "font-size": 11, x: frame.left - 6, y: at.y(v) + 4, "text-anchor": "end" }, tick(y.unit, v)));
      }
      svg.append(draw("text", { class: "f-faint", "font-size": 11, x: (frame.left + frame.right) / 2, y: frame.bottom + 34, "text-anchor": "middle" }, x.label ?? ""));
      if (y.scale !== "rows") {
        const middle = (frame.top + frame.bottom) / 2;
        svg.append(draw("text", { class: "f-faint", "font-size": 11, x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, y.label ?? ""));
      } else {
        y.names.forEach((name, i) => {
          const text = above ? { x: 2, y: at.y(i) - 15 } : { x: frame.left - 8, y: at.y(i) + 4, "text-anchor": "end" };
          const t = draw("text", { class: "f-ink", "font-size": 12, ...text }, name);
          const room = above ? width - 4 : frame.left - 10;
          if (name.length * 6.6 > room) t.textContent = name.slice(0, Math.max(1, Math.floor(room / 6.6) - 1)) + "…";
          svg.append(t);
        });
      }
      for (const r of this.data.rules ?? []) {
        const d = r.upright ? `M${at.x(r.at)} ${frame.top}V${frame.bottom}` : `M${frame.left} ${at.y(r.at)}H${frame.right}`;
        svg.append(draw("path", { class: "l-ink", "stroke-dasharray": "4 3", d }));
        if (r.name) svg.append(draw("text", r.upright ? { class: "f-faint", "font-size": 11, x: at.x(r.at) + 4, y: frame.top + 11 } : { class: "f-faint", "font-size": 11, x: frame.right - 2, y: at.y(r.at) - 4, "text-anchor": "end" }, r.name));
      }
    }

    drawSeries(g, s, at) {
      const line = { class: `l-${role(s)}`, "stroke-width": s.neutral ? 2 : 1.6, "stroke-dasharray": (s.neutral ? neutralDashes : dashes)[s.style % 4] };
      const place = (p) => [at.x(p[X]), at.y(p[Y])];
      const rows = this.data.y.scale === "rows";
      if (s.kind === "lines" || s.kind === "steps") {
        g.append(draw("path", { ...line, d: s.points.map((p, i) => { const [x, y] = place(p); return i === 0 ? `M${x} ${y}` : s.kind === "steps" ? `H${x}V${y}` : `L${x} ${y}`; }).join("") }));
      }
      if (s.kind === "area") {
        const up = s.points.map((p) => `${at.x(p[X])} ${at.y(p[HI])}`), down = s.points.map((p) => `${at.x(p[X])} ${at.y(p[LO])}`).reverse();
        g.append(draw("path", { class: `f-${role(s)}`, "fill-opacity": 0.22, d: `M${[...up, ...down].join("L")}Z` }));
        return;
      }
      for (const p of s.points) {
        const [x, y] = place(p);
        if (s.kind === "ticks") g.append(draw("path", { ...line, d: `M${x} ${y - 10}V${y + 10}` }));
        if (s.kind === "spans") g.append(draw("rect", { class: `f-${role(s)}`, x, y: y - 9, width: Math.max(at.x(p[TO]) - x, 0.6), height: 18 }));
        if (s.kind === "cells" && p[VALUE] > 0) {
          g.append(draw("rect", { class: "f-heat", "fill-opacity": 0.12 + 0.88 * p[VALUE], x, y: at.y(p[TOP]), width: Math.max(at.x(p[TO]) - x, 0.4), height: Math.max(y - at.y(p[TOP]), 0.4) }));
        }
        if (s.kind !== "lines" && s.kind !== "dots") continue;
        if (rows && at.x(p[HI]) - at.x(p[LO]) > 1) g.append(draw("rect", { class: `f-${role(s)}`, "fill-opacity": 0.42, x: at.x(p[LO]), y: y - 2.5, width: at.x(p[HI]) - at.x(p[LO]), height: 5 }));
        if (!rows && at.y(p[LO]) - at.y(p[HI]) > 1) g.append(draw("path", { class: `l-${role(s)}`, "stroke-width": 0.9, d: `M${x} ${at.y(p[LO])}V${at.y(p[HI])}M${x - 2.5} ${at.y(p[LO])}h5M${x - 2.5} ${at.y(p[HI])}h5` }));
        if (s.kind === "dots" || s.points.length <= 60) g.append(marker(s, x, y));
        const note = s.notes?.[s.points.indexOf(p)];
        if (this.data.labeled && note) g.append(draw("text", { class: "f-faint", "font-size": 11, x: Math.max(x, at.x(p[HI])) + 9, y: y + 4 }, note));
      }
    }

    // ---- pointing
    // every point that can be pointed at, with its place in the drawing
    places() {
      const frame = this.frame;
      if (!frame) return [];
      const at = this.placing(frame), out = [];
      for (const s of this.shown()) {
        s.points.forEach((p, i) => {
          let x = at.x(p[X]), y = at.y(p[Y]);
          if (s.kind === "spans" || s.kind === "cells") x = (x + at.x(p[TO])) / 2;
          if (s.kind === "cells") y = (y + at.y(p[TOP])) / 2;
          if (x >= frame.left - 1 && x <= frame.right + 1 && y >= frame.top - 1 && y <= frame.bottom + 1) out.push({ s, p, i, x, y });
        });
      }
      return out;
    }

    point(place) {
      this.at = place;
      this.canvas.querySelectorAll(".spot").forEach((e) => e.remove());
      this.tip.classList.toggle("off", !place);
      if (!place) return;
      const svg = this.svg, box = svg.getBoundingClientRect(), own = this.canvas.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      svg.append(draw("circle", { class: "spot", cx: place.x, cy: place.y, r: 8 }));
      this.tip.textContent = this.words(place);
      const x = box.left - own.left + place.x * scale, y = box.top - own.top + place.y * scale;
      this.tip.style.left = `${Math.max(0, Math.min(x + 12, own.width - this.tip.offsetWidth))}px`;
      this.tip.style.top = `${y + 14}px`;
    }

    words({ s, p, i }) {
      const { x, y } = this.data, rows = y.scale === "rows", unit = rows ? x.unit : y.unit;
      const lines = [s.name];
      if (s.kind === "spans") lines.push(`${y.names[Math.round(p[Y])] ?? ""}`, `${format(x.unit, p[X])} to ${format(x.unit, p[TO])}`);
      else if (s.kind === "cells") lines.push(`${format(x.unit, p[X])} to ${format(x.unit, p[TO])}`, `${format(y.unit, p[Y])} to ${format(y.unit, p[TOP])}`);
      else if (rows) lines.push(`${y.names[Math.round(p[Y])] ?? ""}`, format(unit, p[X]));
      else lines.push(`${x.label || "x"} ${format(x.unit, p[X])}`, `${y.label || "y"} ${format(unit, p[Y])}`);
      if (p[HI] > p[LO] && s.kind !== "cells") lines.push(`[${format(unit, p[LO])}, ${format(unit, p[HI])}]`);
      const note = s.notes?.[i];
      if (note) lines.push(note);
      return lines.filter((l) => l).join("\n");
    }

    inDrawing(event) {
      const svg = this.svg, box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
    }

    nearest({ x, y }) {
      let best = null, least = 40 ** 2;
      for (const p of this.places()) {
        const d = (p.x - x) ** 2 + (p.y - y) ** 2;
        if (d < least) [best, least] = [p, d];
      }
      return best;
    }

    // ---- zoom: a stretch of the X axis, and of the Y axis if it is one of figures
    zoom(x, y) {
      const frame = this.frame;
      if (!frame || !(x[1] > x[0]) || this.axis("x").scale === "rows") return;
      this.zoomed.push({ x, y: y ?? frame.y });
      this.redraw();
    }

    zoomAround(place, factor) {
      const frame = this.frame, axis = this.axis("x"), middle = place ? (place.x - frame.left) / (frame.right - frame.left) : 0.5;
      const half = factor / 2, lo = Math.max(0, middle - half), hi = Math.min(1, middle + half);
      if (factor >= 1) { this.zoomed.pop(); this.redraw(); return; }
      this.zoom([valueAt(axis, lo, frame.x), valueAt(axis, hi, frame.x)]);
    }

    listen() {
      const c = this.canvas;
      let from = null, box = null;
      c.addEventListener("pointermove", (e) => {
        if (!this.svg) return;
        const at = this.inDrawing(e);
        if (!from) { this.point(this.nearest(at)); return; }
        if (Math.abs(at.x - from.x) < 6) return;
        const f = this.frame;
        box ??= this.svg.appendChild(draw("rect", { class: "drag", y: f.top, height: f.bottom - f.top }));
        box.setAttribute("x", Math.max(Math.min(from.x, at.x), f.left));
        box.setAttribute("width", Math.abs(at.x - from.x));
      });
      c.addEventListener("pointerdown", (e) => { if (e.pointerType === "mouse" && e.button === 0 && this.svg) from = this.inDrawing(e); });
      addEventListener("pointerup", (e) => {
        if (from && box) {
          const at = this.inDrawing(e), f = this.frame, axis = this.axis("x");
          const [a, b] = [from.x, at.x].sort((p, q) => p - q).map((v) => Math.min(Math.max((v - f.left) / (f.right - f.left), 0), 1));
          box.remove();
          if (b > a) this.zoom([valueAt(axis, a, f.x), valueAt(axis, b, f.x)]);
        }
        from = box = null;
      });
      c.addEventListener("pointerleave", () => { if (!from) this.point(null); });
      c.addEventListener("dblclick", () => { this.zoomed = []; this.redraw(); });
      c.addEventListener("blur", () => this.point(null));
      c.addEventListener("keydown", (e) => this.key(e));
      let width = c.clientWidth;
      new ResizeObserver(() => { if (this.own && Math.abs(c.clientWidth - width) > 2) { width = c.clientWidth; this.redraw(); } }).observe(c);
    }

    key(e) {
      const all = this.places(), now = this.at && all.find((q) => q.s === this.at.s && q.i === this.at.i);
      const go = (to) => { if (to) this.point(to); };
      switch (e.key) {
        case "ArrowRight": case "ArrowLeft": {
          const step = e.key === "ArrowRight" ? 1 : -1;
          const same = now ? all.filter((q) => q.s === now.s) : all;
          go(now ? same[same.indexOf(now) + step] : all[0]);
          break;
        }
        case "ArrowDown": case "ArrowUp": {
          const names = this.shown(), step = e.key === "ArrowDown" ? 1 : -1;
          if (!now) { go(all[0]); break; }
          const next = names[(names.indexOf(now.s) + step + names.length) % names.length];
          const others = all.filter((q) => q.s === next);
          go(others.reduce((best, q) => (!best || Math.abs(q.x - now.x) < Math.abs(best.x - now.x) ? q : best), null));
          break;
        }
        case "+": case "=": this.zoomAround(now, 0.5); break;
        case "-": this.zoomAround(now, 2); break;
        case "0": this.zoomed = []; this.redraw(); break;
        case "Escape": this.point(null); break;
        default: return;
      }
      e.preventDefault();
    }
  }

  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const charts = [];
  document.querySelectorAll("figure.plot").forEach((figure, i) => {
    figure.dataset.place = i;
    if (data[i]) charts.push(new Chart(figure, data[i]));
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

  // ---- paper has what is folded
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
