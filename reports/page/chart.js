const make = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
};
const draw = (tag, attributes = {}, text) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== "") e.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
  if (text !== undefined) e.textContent = text;
  return e;
};

// ---- texts in drawings
const pen = document.createElement("canvas").getContext("2d");
const widthOf = (text, size) => {
  pen.font = `${size}px "Liberation Sans", Arial, Helvetica, sans-serif`;
  return pen.measureText(text).width;
};
const fit = (text, size, room) => {
  const runes = [...text];
  let shorter = text;
  for (let n = runes.length - 1; n > 0 && widthOf(shorter, size) > room; n--) shorter = runes.slice(0, n - 1).join("") + "…";
  return shorter;
};

// ---- looks, as package chart has them
const [X, Y, LO, HI, TO, TOP, VALUE] = [0, 1, 2, 3, 4, 5, 6];
const role = (s) => (s.neutral ? "faint" : "s" + (s.style % 8));
const dashes = ["", "7 3", "2 2.5", "8 3 2 3"], neutralDashes = ["", "3 2.5", "1.5 2", "6 2"];
const lineOf = (s) => ({ class: `l-${role(s)}`, "stroke-width": s.neutral ? 2 : 1.6, "stroke-dasharray": (s.neutral ? neutralDashes : dashes)[s.style % 4] });
const corners = (x, y, ...pairs) => "M" + pairs.map(([a, b]) => `${(x + a).toFixed(2)} ${(y + b).toFixed(2)}`).join("L") + "Z";
// shapeOf returns the path of a marker of radius r, which is filled unless it is one of strokes.
const shapeOf = (i, x, y, r) => {
  switch (i) {
    case 1: return corners(x, y, [0, -1.25 * r], [1.25 * r, 0], [0, 1.25 * r], [-1.25 * r, 0]);
    case 2: return corners(x, y, [0, -1.2 * r], [1.14 * r, 0.84 * r], [-1.14 * r, 0.84 * r]);
    case 3: return corners(x, y, [-0.9 * r, -0.9 * r], [0.9 * r, -0.9 * r], [0.9 * r, 0.9 * r], [-0.9 * r, 0.9 * r]);
    case 4: return corners(x, y, [0, 1.2 * r], [1.14 * r, -0.84 * r], [-1.14 * r, -0.84 * r]);
  }
  return `M${x - r} ${y}a${r} ${r} 0 0 0 ${2 * r} 0a${r} ${r} 0 0 0 ${-2 * r} 0Z`;
};
const marker = (s, x, y, rim) => {
  const i = s.neutral ? 5 : s.style % 8, r = s.neutral ? 3.6 : 4.2, out = [];
  if (rim && i < 6) out.push(draw("path", { d: shapeOf(i, x, y, r + 1.2), class: "f-card" }));
  if (i < 5) out.push(draw("path", { d: shapeOf(i, x, y, r), class: `f-${role(s)}` }));
  if (i === 5) out.push(draw("path", { d: shapeOf(i, x, y, r), class: "f-card" }), draw("path", { d: shapeOf(i, x, y, r), class: `l-${role(s)}`, "stroke-width": 1.4 }));
  if (i === 6) out.push(draw("path", { d: `M${x - 3} ${y - 3}l6 6m-6 0l6 -6`, class: `l-${role(s)}`, "stroke-width": 1.4 }));
  if (i === 7) out.push(draw("path", { d: `M${x - 4.2} ${y}h8.4m-4.2 -4.2v8.4`, class: `l-${role(s)}`, "stroke-width": 1.4 }));
  return out;
};

// Chart replaces the drawing in the page by one of the same data, at its true width.
class Chart extends Pointing {
  constructor(figure, data, place) {
    super();
    Object.assign(this, { figure, data, place, hidden: new Set(), zoomed: [], scales: { x: data.x.scale, y: data.y.scale } });
    this.rows = data.y.scale === "rows";
    this.canvas = figure.querySelector(".canvas");
    this.says = this.canvas.querySelector("svg").getAttribute("aria-label");
    this.legend();
    this.tools();
    this.tip = make("div", { class: "tip off", role: "status" });
    this.canvas.append(this.tip);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "chart");
    this.canvas.setAttribute("aria-label", `${data.title}. Arrow keys go from point to point${this.zooms ? ", plus and minus zoom, 0 shows all" : ""}, Escape ends.`);
    this.listen();
  }

  axis(name) { return { ...this.data[name], scale: this.scales[name] }; }

  get zooms() { return this.data.x.scale !== "rows"; }

  legend() {
    for (const item of this.figure.querySelectorAll(".legend li")) {
      const entry = Number(item.dataset.entry);
      if (!this.data.series.some((s) => s.entry === entry)) continue;
      const button = make("button", { type: "button", "aria-pressed": "true", title: "Hide or show" }, ...item.childNodes);
      item.append(button);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(entry)) this.hidden.add(entry);
        button.setAttribute("aria-pressed", String(!this.hidden.has(entry)));
        this.change();
      });
    }
  }

  tools() {
    this.bar = make("div", { class: "tools" });
    const add = (act) => {
      const b = make("button", { type: "button" });
      b.addEventListener("click", act);
      this.bar.append(b);
      return b;
    };
    this.all = add(() => this.unzoom());
    this.all.textContent = "Show all";
    this.all.classList.add("off");
    for (const name of ["x", "y"]) {
      if (!this.canBeLog(name)) continue;
      const words = () => {
        const now = this.scales[name] === "log" ? "log" : "linear", next = now === "log" ? "linear" : "logarithmic";
        b.textContent = `${name}: ${now}`;
        b.setAttribute("aria-label", `${name}: ${now}. Make the axis ${this.data[name].label || name} ${next}`);
        b.title = `Make the axis “${this.data[name].label || name}” ${next}`;
      };
      const b = add(() => {
        this.scales[name] = this.scales[name] === "log" ? "linear" : "log";
        this.zoomed = [];
        words();
        this.change();
      });
      b.dataset.scale = name;
      words();
    }
    this.figure.querySelector(".below").append(this.bar);
  }

  canBeLog(name) {
    if (this.data[name].scale === "rows" || this.data[name].unit === "percentile") return false;
    const i = name === "x" ? X : Y;
    return this.data.series.every((s) => s.kind !== "cells" && s.kind !== "spans" && s.kind !== "area" && s.points.every((p) => p[i] > 0));
  }

  shown() { return this.data.series.filter((s) => !this.hidden.has(s.entry)); }

  limits(name) {
    const axis = this.axis(name), across = name === "x", i = across ? X : Y;
    if (axis.scale === "rows") return [-0.5, axis.names.length - 0.5];
    let lo = Infinity, hi = -Infinity;
    const add = (...values) => { for (const v of values) if (axis.scale !== "log" || v > 0) [lo, hi] = [Math.min(lo, v), Math.max(hi, v)]; };
    for (const s of this.shown()) {
      for (const p of s.points) {
        add(p[i]);
        if (s.kind === "spans" || s.kind === "cells") { if (across) add(p[TO]); else if (s.kind === "cells") add(p[TOP]); }
        if (across === this.rows && s.kind !== "spans" && s.kind !== "cells") add(p[LO], p[HI]);
      }
    }
    for (const r of this.data.rules ?? []) if (Boolean(r.upright) === across) add(r.at);
    if (across) for (const b of this.data.bands ?? []) if (!b.top) add(b.from, b.to);
    if (lo > hi) return axis.scale === "log" ? [1, 10] : [0, 1];
    if (axis.scale === "log") return logLimits(lo, hi);
    if (!axis.free) [lo, hi] = [Math.min(lo, 0), Math.max(hi, 0)];
    if (lo === hi) {
      const room = lo === 0 ? 1 : Math.max(Math.abs(lo) * 0.1, 1e-12);
      return [axis.free ? lo - room : lo, hi + room];
    }
    const room = 0.05 * (hi - lo);
    return [axis.free ? lo - room : lo, hi + room];
  }

  // layout places the frame of the data as package chart does.
  layout() {
    const { data, rows } = this, width = Math.max(this.canvas.clientWidth, 240), names = data.y.names ?? [], above = rows && width < 480;
    const ruled = (data.rules ?? []).some((r) => r.upright && r.name) ? 15 : 0; // for their names, above the data
    const row = above ? 58 : names.length > 30 ? 18 : 34;
    const height = ruled + (rows ? names.length * row + 44 : Math.max(Math.min(width * 0.52, 340), 230) * (data.low ? 0.62 : 1));
    const x = this.axis("x"), y = this.axis("y"), last = this.zoomed.at(-1);
    const f = { width, height, above, left: 0, right: width, top: ruled, bottom: height - (x.label ? 19.5 : 0) - 20.7, x: last?.x ?? this.limits("x"), y: last?.y ?? this.limits("y") };
    f.xTicks = ticksOf(x, f.x, Math.max(3, Math.floor(width / 90)));
    f.yTicks = ticksOf(y, f.y, Math.min(8, Math.max(3, Math.floor(height / 46))));
    const notes = data.labeled ? data.series.flatMap((s) => s.notes ?? []) : [];
    const longest = Math.max(0, ...notes.map((n) => widthOf(n, 11)));
    f.notes = longest && Math.min(longest, 0.5 * width) + 12;
    if (above) f.left = 18;
    else if (rows) {
      f.left = Math.min(Math.max(0, ...names.map((n) => widthOf(n, 12))), 0.3 * width) + 10;
      f.right -= f.notes;
    } else f.left = (y.label ? 17.6 : 0) + Math.max(0, ...f.yTicks.map((t) => widthOf(t.text, 11))) + 11.5;
    // The last labels stay within the drawing.
    for (const t of f.xTicks) {
      const share = shareOf(x, t.v, f.x), over = f.left + share * (f.right - f.left) + widthOf(t.text, 11) / 2 - (above ? width : f.right);
      if (t.text && share > 0.5 && share <= 1 && over > 0) f.right -= over / share;
    }
    for (const t of f.yTicks) {
      const share = shareOf(y, t.v, f.y), over = 6.2 - (1 - share) * (f.bottom - f.top) - (f.top - ruled);
      if (t.text && share > 0.5 && share <= 1 && over > 0) f.top += over / share;
    }
    return f;
  }

  show() {
    if (!this.svg) this.redraw();
  }

  change() {
    this.canvas.classList.add("changed"); // paper then has it as the reader left it
    this.redraw();
  }

  redraw() {
    const frame = this.frame = this.layout(), at = this.placing(frame);
    this.all.classList.toggle("off", !this.zoomed.length);
    const svg = draw("svg", { viewBox: `0 0 ${frame.width} ${+frame.height.toFixed(2)}`, class: "chart", role: "img", "aria-label": this.says });
    this.drawAxes(svg, frame);
    const id = `clip-${this.place}`, clip = draw("clipPath", { id }), inside = draw("g", { "clip-path": this.zoomed.length ? `url(#${id})` : "" });
    clip.append(draw("rect", { x: frame.left - 7, y: frame.top - 16, width: frame.right - frame.left + 14, height: frame.bottom - frame.top + 23 }));
    svg.append(clip, inside);
    this.drawBehind(inside, frame, at);
    for (const s of this.shown()) {
      const g = draw("g", { class: "series", "data-series": s.entry });
      this.drawSeries(g, s, at, frame);
      inside.append(g);
    }
    if (this.rows) this.drawNames(svg, frame, at);
    if (this.svg) this.svg.replaceWith(svg); else this.canvas.prepend(svg);
    this.canvas.classList.add("live");
    this.svg = svg;
    this.point(null);
  }

  placing(frame) {
    const x = this.axis("x"), y = this.axis("y");
    return {
      x: (v) => frame.left + shareOf(x, v, frame.x) * (frame.right - frame.left),
      y: (v) => (this.rows ? frame.top + ((v + 0.5) / y.names.length) * (frame.bottom - frame.top)
        : frame.bottom - shareOf(y, v, frame.y) * (frame.bottom - frame.top)),
    };
  }

  drawAxes(svg, f) {
    const x = this.axis("x"), y = this.axis("y"), at = this.placing(f), line = f.bottom + 4, text = (attributes, words) => svg.append(draw("text", { "font-size": 11, ...attributes }, words));
    const ticks = (list, inside, write) => list.filter((t) => inside(t.v)).map((t) => { if (t.text) write(t); return t; });
    const acrossTicks = ticks(f.xTicks, (v) => at.x(v) >= f.left - 0.1 && at.x(v) <= f.right + 0.1, (t) => text({ class: "f-ink", x: at.x(t.v), y: line + 14, "text-anchor": "middle" }, t.text));
    svg.append(draw("path", { class: "l-faint", "stroke-width": 0.8, d: `M${f.left} ${line}H${f.right}` + acrossTicks.map((t) => `M${at.x(t.v)} ${line}v${t.text ? 4 : 2}`).join("") }));
    if (!this.rows) {
      const left = f.left - 4;
      const upTicks = ticks(f.yTicks, (v) => at.y(v) >= f.top - 0.1 && at.y(v) <= f.bottom + 0.1, (t) => text({ class: "f-ink", x: left - 7, y: at.y(t.v) + 4, "text-anchor": "end" }, t.text));
      svg.append(draw("path", { class: "l-faint", "stroke-width": 0.8, d: `M${left} ${f.top}V${f.bottom}` + upTicks.map((t) => `M${left} ${at.y(t.v)}h${t.text ? -4 : -2}`).join("") }));
      const middle = (f.height + (x.label ? -19.5 : 0)) / 2;
      if (y.label) text({ class: "f-faint", x: 10, y: middle, "text-anchor": "middle", transform: `rotate(-90 10 ${middle})` }, fit(y.label, 11, f.height));
    }
    if (x.label) text({ class: "f-faint", x: (f.left + f.right) / 2, y: f.height - 5.4, "text-anchor": "middle" }, fit(x.label, 11, f.width));
  }

  // drawBehind has bands, grid, rules, and the lines that join the markers of a row.
  drawBehind(g, f, at) {
    const path = (cls, width, d, dash) => g.append(draw("path", { class: cls, "stroke-width": width, "stroke-dasharray": dash, d }));
    const box = (cls, from, to, height) => g.append(draw("rect", { class: cls, x: from, y: f.top, width: to - from, height }));
    for (const b of this.data.bands ?? []) {
      const from = Math.max(at.x(b.from), f.left), to = Math.max(Math.min(at.x(b.to), f.right), from + 1.2);
      if (!(b.to >= f.x[0] && b.from <= f.x[1])) continue;
      if (!b.top) { box("f-band", from, to, f.bottom - f.top); continue; }
      const color = `s${(b.style ?? 0) % 8}`, height = (f.bottom - f.top) / 12;
      box(`f-${color}`, from, to, height);
      path(`l-${color}`, 0.5, `M${from} ${f.top + height}V${f.bottom}`, "1 2");
    }
    const inside = (v, [lo, hi]) => v >= lo && v <= hi;
    const grid = f.xTicks.filter((t) => t.text && inside(t.v, f.x)).map((t) => `M${at.x(t.v)} ${f.top}V${f.bottom}`)
      .concat(f.yTicks.filter((t) => t.text && inside(t.v, f.y)).map((t) => `M${f.left} ${at.y(t.v)}H${f.right}`));
    path("l-grid", 0.8, grid.join(""));
    let named = f.left - 1; // up to where there are names of upright rules
    for (const r of this.data.rules ?? []) {
      if (!inside(r.at, r.upright ? f.x : f.y)) continue;
      path("l-ink", 1, r.upright ? `M${at.x(r.at)} ${f.top}V${f.bottom}` : `M${f.left} ${at.y(r.at)}H${f.right}`, "4 3");
      const name = fit(r.name ?? "", 11, (f.right - f.left) / (r.upright ? 2 : 1)), width = widthOf(name, 11);
      const left = r.upright ? Math.max(f.left, Math.min(at.x(r.at) - width / 2, f.right - width)) : f.right - 2 - width;
      if (!name || (r.upright && left <= named)) continue;
      if (r.upright) named = left + width + 4;
      g.append(draw("text", { class: "f-faint", "font-size": 11, x: left, y: r.upright ? f.top - 5.4 : at.y(r.at) - 4.4 }, name));
    }
    if (!this.rows) return;
    this.data.y.names.forEach((_, i) => {
      const row = this.shown().filter((s) => s.kind === "dots").flatMap((s) => s.points.filter((p) => Math.round(p[Y]) === i).map((p) => at.x(p[X])));
      if (row.length) path("l-grid", 1.6, `M${Math.min(...row)} ${at.y(i)}H${Math.max(...row)}`);
    });
  }

  drawNames(svg, f, at) {
    this.data.y.names.forEach((name, i) => {
      svg.append(f.above ? draw("text", { class: "f-ink", "font-size": 12, x: 2, y: at.y(i) - 19.4 }, fit(name, 12, f.width - 4 - f.notes))
        : draw("text", { class: "f-ink", "font-size": 12, x: f.left - 8, y: at.y(i) + 4, "text-anchor": "end" }, fit(name, 12, f.left - 10)));
    });
  }

  drawSeries(g, s, at, f) {
    const line = lineOf(s), { rows } = this, place = (p) => [at.x(p[X]), at.y(p[Y])], add = (...parts) => g.append(...parts);
    if (s.kind === "area") {
      const up = s.points.map((p) => `${at.x(p[X])} ${at.y(p[HI])}`), down = s.points.map((p) => `${at.x(p[X])} ${at.y(p[LO])}`).reverse();
      add(draw("path", { class: `f-${role(s)}`, "fill-opacity": 0.22, d: `M${[...up, ...down].join("L")}Z` }));
      return;
    }
    if (s.kind === "lines" || s.kind === "dots") for (const p of s.points) this.interval(g, s, p, at);
    if (s.kind === "lines" || s.kind === "steps") {
      add(draw("path", { ...line, d: s.points.map((p, i) => { const [x, y] = place(p).map((v) => +v.toFixed(2)); return i === 0 ? `M${x} ${y}` : s.kind === "steps" ? `H${x}V${y}` : `L${x} ${y}`; }).join("") }));
    }
    const half = Math.max(1.5, Math.min(9, rows ? (at.y(1) - at.y(0)) * 0.3 : 9));
    s.points.forEach((p, i) => {
      const [x, y] = place(p);
      if (s.kind === "ticks") add(draw("path", { ...line, d: `M${x} ${y - 10}V${y + 10}` }));
      if (s.kind === "spans") add(draw("rect", { class: `f-${role(s)}`, x, y: y - half, width: Math.max(at.x(p[TO]) - x, 0.6), height: 2 * half }));
      if (s.kind === "cells" && p[VALUE] > 0) add(draw("rect", { class: "f-heat", "fill-opacity": 0.12 + 0.88 * Math.min(p[VALUE], 1), x, y: at.y(p[TOP]), width: Math.max(at.x(p[TO]) - x, 0.4), height: Math.max(y - at.y(p[TOP]), 0.4) }));
      if (s.kind !== "dots" && (s.kind !== "lines" || s.points.length > 24)) return;
      add(...marker(s, +x.toFixed(2), +y.toFixed(2), rows));
      const note = this.data.labeled && s.notes?.[i];
      if (note) add(draw("text", { class: "f-faint", "font-size": 11, ...(f.above ? { x: f.right, y: at.y(Math.round(p[Y])) - 19.2, "text-anchor": "end" } : { x: f.right + 12, y: y + 4 }) }, fit(note, 11, f.notes)));
    });
  }

  interval(g, s, p, at) {
    if (this.rows) {
      const from = at.x(p[LO]), width = at.x(p[HI]) - from;
      if (width > 1) g.append(draw("rect", { class: `f-${role(s)}`, "fill-opacity": 0.42, x: from, y: at.y(p[Y]) - 2.5, width, height: 5 }));
      return;
    }
    const x = at.x(p[X]), lo = at.y(p[LO]), hi = at.y(p[HI]);
    if (lo - hi > 1) g.append(draw("path", { class: `l-${role(s)}`, "stroke-width": 0.9, d: `M${x} ${lo}V${hi}M${x - 2.5} ${lo}h5M${x - 2.5} ${hi}h5` }));
  }
}
