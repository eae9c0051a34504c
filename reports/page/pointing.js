// Pointing is how a chart answers to mouse, finger and keyboard. Chart extends it, and draws.
class Pointing {
  // places are the points that can be pointed at, with where they are in the drawing.
  places() {
    const f = this.frame, at = this.placing(f), out = [];
    for (const s of this.shown()) {
      s.points.forEach((p, i) => {
        let x = at.x(p[X]), y = at.y(p[Y]);
        if (s.kind === "spans" || s.kind === "cells") x = (x + at.x(p[TO])) / 2;
        if (s.kind === "cells") y = (y + at.y(p[TOP])) / 2;
        if (x >= f.left - 1 && x <= f.right + 1 && y >= f.top - 1 && y <= f.bottom + 1) out.push({ s, p, i, x, y });
      });
    }
    return out;
  }

  // point shows the tip of a place, or none. The tip is a status even while it is empty, so that readers announce it.
  point(place) {
    this.at = place;
    this.svg.querySelector(".spot")?.remove();
    this.tip.classList.toggle("off", !place);
    this.tip.textContent = place ? this.words(place) : "";
    if (!place) return;
    this.svg.append(draw("circle", { class: "spot", cx: place.x, cy: place.y, r: 8 }));
    const box = this.svg.getBoundingClientRect(), own = this.canvas.getBoundingClientRect(), scale = box.width / this.frame.width;
    const x = box.left - own.left + place.x * scale, y = box.top - own.top + place.y * scale;
    const left = x + 14 + this.tip.offsetWidth <= own.width ? x + 14 : x - 14 - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(left, own.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + 12}px`;
  }

  words({ s, p, i }) {
    const { x, y } = this.data, unit = this.rows ? x.unit : y.unit, lines = [s.name];
    if (this.rows) lines.push(y.names[Math.round(p[Y])] ?? "");
    if (s.kind === "spans" || s.kind === "cells") {
      lines.push(`${format(x.unit, p[X])} to ${format(x.unit, p[TO])}`);
      if (s.kind === "cells") lines.push(`${format(y.unit, p[Y])} to ${format(y.unit, p[TOP])}`);
    } else if (this.rows) lines.push(format(unit, p[X]));
    else lines.push(`${x.label || "x"}: ${format(x.unit, p[X])}`, `${y.label || "y"}: ${format(unit, p[Y])}`);
    if (p[HI] > p[LO] && s.kind !== "cells") lines.push(`[${format(unit, p[LO])}, ${format(unit, p[HI])}]`);
    if (s.notes?.[i]) lines.push(s.notes[i]);
    return lines.filter((l) => l).join("\n");
  }

  inDrawing(event) {
    const box = this.svg.getBoundingClientRect(), scale = this.frame.width / box.width;
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

  // ---- zoom: a stretch of the X axis
  zoom(from, to) {
    const f = this.frame, axis = this.axis("x"), [a, b] = [from, to].sort((p, q) => p - q).map((v) => Math.min(Math.max((v - f.left) / (f.right - f.left), 0), 1));
    if (!this.zooms || b - a < 1e-3 || this.zoomed.length >= 30) return;
    this.zoomed.push({ x: [valueAt(axis, a, f.x), valueAt(axis, b, f.x)], y: f.y });
    this.change();
  }

  zoomAround(place) {
    const f = this.frame, quarter = (f.right - f.left) / 4, middle = Math.min(Math.max(place?.x ?? (f.left + f.right) / 2, f.left + quarter), f.right - quarter);
    this.zoom(middle - quarter, middle + quarter);
  }

  unzoom(left = 0) {
    const focused = document.activeElement === this.all;
    this.zoomed.length = Math.max(0, Math.min(left, this.zoomed.length));
    this.change();
    if (focused) this.canvas.focus(); // the button is gone
  }

  listen() {
    const c = this.canvas;
    let from = null, box = null;
    const end = () => { box?.remove(); from = box = null; };
    c.addEventListener("pointermove", (e) => {
      if (!this.svg) return;
      const at = this.inDrawing(e), f = this.frame;
      if (!from) { this.point(this.nearest(at)); return; }
      if (!box && Math.abs(at.x - from.x) < 6) return;
      if (!box) {
        this.point(null);
        box = this.svg.appendChild(draw("rect", { class: "drag", y: f.top, height: f.bottom - f.top }));
      }
      const x = Math.min(Math.max(at.x, f.left), f.right), start = Math.min(Math.max(from.x, f.left), f.right);
      box.setAttribute("x", Math.min(start, x));
      box.setAttribute("width", Math.abs(x - start));
    });
    c.addEventListener("pointerdown", (e) => {
      if (!this.svg) return;
      if (e.pointerType !== "mouse") this.point(this.nearest(this.inDrawing(e)));
      else if (e.button === 0 && this.zooms) from = this.inDrawing(e);
    });
    addEventListener("pointerup", (e) => {
      if (!from) return;
      const start = from, to = box && this.inDrawing(e);
      end();
      if (to) this.zoom(start.x, to.x);
    });
    addEventListener("pointercancel", end);
    // A finger that is lifted leaves, too: its tip stays until the next touch elsewhere.
    c.addEventListener("pointerleave", (e) => { if (this.svg && !from && e.pointerType === "mouse") this.point(null); });
    addEventListener("pointerdown", (e) => { if (this.at && !c.contains(e.target)) this.point(null); });
    c.addEventListener("dblclick", () => { if (this.svg) this.unzoom(); });
    c.addEventListener("focus", () => this.show());
    c.addEventListener("blur", () => { if (this.svg) this.point(null); });
    c.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => { if (this.svg && c.clientWidth && Math.abs(c.clientWidth - this.frame.width) > 0.5) this.redraw(); }).observe(c);
  }

  key(e) {
    if (!this.svg || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = this.places(), now = this.at && all.find((q) => q.s === this.at.s && q.i === this.at.i);
    const go = (to) => { if (to) this.point(to); };
    switch (e.key) {
      case "ArrowRight": case "ArrowLeft": {
        const same = now ? all.filter((q) => q.s === now.s) : all;
        go(now ? same[same.indexOf(now) + (e.key === "ArrowRight" ? 1 : -1)] : all[0]);
        break;
      }
      case "ArrowDown": case "ArrowUp": {
        const seen = this.shown().filter((s) => all.some((q) => q.s === s)), step = e.key === "ArrowDown" ? 1 : -1;
        if (!now) { go(all[0]); break; }
        const next = seen[(seen.indexOf(now.s) + step + seen.length) % seen.length];
        const far = (q) => (this.rows ? Math.abs(Math.round(q.p[Y]) - Math.round(now.p[Y])) * 1e6 : 0) + Math.abs(q.x - now.x);
        go(all.filter((q) => q.s === next).reduce((best, q) => (far(q) < far(best) ? q : best)));
        break;
      }
      case "+": case "=": this.zoomAround(now); break;
      case "-": this.unzoom(this.zoomed.length - 1); break;
      case "0": this.unzoom(); break;
      case "Escape": this.point(null); break;
      default: return;
    }
    e.preventDefault();
  }
}
