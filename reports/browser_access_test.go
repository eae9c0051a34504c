package reports_test

import (
	"slices"
	"testing"

	"pulley/internal/browsertest"
	"pulley/internal/depth"
)

// structure holds a page against rules that axe calls serious or critical, and some more.
const structure = `(() => {
  const out = [], all = (s, in_ = document) => [...in_.querySelectorAll(s)], seen = (e) => e.getClientRects().length > 0;
  const name = (e) => (e.getAttribute("aria-label") ?? e.textContent).trim();
  if (!document.documentElement.lang || !document.title) out.push("no language or title");
  let level = 0;
  for (const h of all("h1, h2, h3, h4, h5, h6")) {
    const now = Number(h.localName[1]);
    if (now > level + 1) out.push("heading " + h.textContent + " is of level " + now + " after " + level);
    if (!h.textContent.trim()) out.push("an empty heading");
    level = now;
  }
  if (all("h1").length !== 1 || all("main").length !== 1 || all("header").length !== 1 || all("footer").length !== 1 || all("nav").length !== 1) out.push("landmarks or the first heading are missing, or there are two");
  for (const e of document.body.children) if (!e.matches("header, main, footer, script, a.skip")) out.push("outside of landmarks: " + e.localName);
  const ids = all("[id]").map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) out.push("two of id " + id);
  for (const e of all("[aria-labelledby], [aria-describedby]")) for (const id of (e.getAttribute("aria-labelledby") ?? e.getAttribute("aria-describedby")).split(" ")) if (!document.getElementById(id)) out.push("a label is missing: " + id);
  for (const e of all("button, a, summary, [role=application], [role=region], [role=img], nav")) if (!name(e)) out.push("no name: " + e.outerHTML.slice(0, 80));
  for (const e of all("img")) if (!e.alt) out.push("no text: " + e.outerHTML.slice(0, 80));
  for (const e of all("[tabindex]")) if (e.tabIndex > 0) out.push("positive tabindex");
  for (const e of all("section")) if (!e.getAttribute("aria-labelledby")) out.push("a section without a name");
  for (const f of all("figure.plot")) {
    if (!f.querySelector("figcaption .title")?.textContent.trim()) out.push("a chart without a title");
    for (const s of all(".canvas svg", f)) if (s.getAttribute("role") !== "img" || (s.getAttribute("aria-label") ?? "").length < 5) out.push("a drawing without words: " + f.dataset.chart);
    for (const c of all(".canvas.live", f)) if (c.tabIndex !== 0 || !c.querySelector("[role=status]")) out.push("a chart that the keyboard does not reach");
  }
  for (const t of all("table")) {
    if (!t.caption?.textContent.trim()) out.push("a table without a caption");
    for (const h of all("thead th", t)) if (h.scope !== "col" || !h.textContent.trim()) out.push("a column without a heading");
    for (const r of all("tbody tr", t)) if (r.cells[0].localName !== "th" || r.cells[0].scope !== "row") out.push("a row without a heading");
    const columns = t.tHead.rows[0].cells.length;
    for (const r of all("tbody tr", t)) if (r.cells.length !== columns) out.push("a row of " + r.cells.length + " cells in a table of " + columns + " columns");
  }
  for (const e of all("ul, ol, dl")) if ([...e.children].some((c) => !c.matches(e.localName === "dl" ? "dt, dd" : "li"))) out.push("a list of other things");
  for (const e of all(".scroll, pre")) if (seen(e) && e.scrollWidth > e.clientWidth + 1 && e.tabIndex !== 0) out.push("what scrolls cannot be reached: " + name(e).slice(0, 40));
  for (const e of all("button, summary, nav a")) {
    const b = e.getBoundingClientRect();
    if (seen(e) && (b.width < 24 || b.height < 24) && !e.closest("thead")) out.push("small to hit, " + Math.round(b.width) + " by " + Math.round(b.height) + ": " + name(e).slice(0, 40));
  }
  return [...new Set(out)].slice(0, 12);
})()`

// contrasts returns the texts whose colour stands out less than 4.5 : 1, or 3 : 1 if they are large.
const contrasts = `(() => {
  const parse = (c) => {
    const m = c.match(/^(?:rgba?|color)\((?:srgb )?([\d.e-]+)[, ]+([\d.e-]+)[, ]+([\d.e-]+)(?:[, /]+([\d.e-]+))?\)$/);
    if (!m) throw new Error("a colour that the test does not know: " + c);
    const scale = c.startsWith("color") ? 255 : 1;
    return [m[1] * scale, m[2] * scale, m[3] * scale, m[4] === undefined ? 1 : +m[4]];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const grounds = new Map(), ground = (e) => { if (!grounds.has(e)) grounds.set(e, groundOf(e)); return grounds.get(e); };
  const groundOf = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); layers.push(c); if (c[3] === 1) break; }
    return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
  };
  const out = new Set();
  let checked = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement, s = getComputedStyle(e);
    if (!n.textContent.trim() || e.closest("script, style") || !e.getClientRects().length || s.visibility === "hidden" || e.closest(".tip.off, .sortable tbody tr:nth-child(n+5)")) continue; // rows are alike
    let opacity = 1;
    for (let p = e; p; p = p.parentElement) opacity *= getComputedStyle(p).opacity;
    const back = ground(e.closest("svg")?.parentElement ?? e), ink = parse(e.namespaceURI.endsWith("svg") ? s.fill : s.color);
    ink[3] *= opacity;
    const [a, b] = [light(over(ink, back)), light(back)].sort((x, y) => y - x), size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.6 && s.fontWeight >= 700;
    const ratio = (a + 0.05) / (b + 0.05);
    checked++;
    if (ratio < (large ? 3 : 4.5)) out.add(ratio.toFixed(2) + " " + n.textContent.trim().slice(0, 40) + " (" + e.localName + "." + e.getAttribute("class") + ")");
  }
  if (checked < 20) out.add("only " + checked + " texts");
  return [...out].slice(0, 12);
})()`

// scale returns sizes of type and space that are not of the one scale that the style sheet names.
const scale = `(() => {
  const type = new Set("12px 13px 14px 16px 20px 28px".split(" ")), space = new Set("0px 2px 4px 8px 12px 16px 24px 32px 48px 160px normal auto".split(" ")), drawn = new Set(["11px", "12px"]), out = new Set();
  for (const e of document.querySelectorAll("body *:not(script):not(.sortable tbody tr:nth-child(n+3) *)")) {
    if (!e.getClientRects().length) continue;
    const s = getComputedStyle(e), name = " of " + e.localName + "." + e.getAttribute("class"), svg = e.closest("svg");
    const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (says && !(svg ? drawn : type).has(s.fontSize) && !(e.localName === "h1" && parseFloat(s.fontSize) >= 20 && parseFloat(s.fontSize) <= 28)) out.add("type " + s.fontSize + name);
    if (!svg) for (const v of [e.matches(".below") ? "0px" : s.marginTop, s.marginBottom, s.paddingTop, s.paddingLeft, s.columnGap, s.rowGap]) if (!space.has(v)) out.add("space " + v + name);
  }
  return [...out].slice(0, 12);
})()`

// Serious findings by the rules of axe-core, which are held by hand here: none. Type and space come from one scale.
func TestPagesAreAccessible(t *testing.T) {
	for _, k := range mostKinds() {
		t.Run(k.name, func(t *testing.T) {
			b := browsertest.New(t)
			b.Open(k.html(t, k.make()))
			b.Do(scrollThrough)
			b.Do(`document.querySelector(".legend button")?.click()`) // a series that is hidden
			for _, width := range []int{1280, 360} {
				b.Size(width, 800)
				b.Do(`new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`) // observers of sizes were called
				b.Do(`document.querySelectorAll(".canvas.live").forEach((c) => c.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" })))`)
				for _, found := range browsertest.Eval[[]string](b, structure) {
					t.Errorf("%d wide: %s", width, found)
				}
				for _, found := range browsertest.Eval[[]string](b, scale) {
					t.Errorf("%d wide: out of the scale: %s", width, found)
				}
				for _, scheme := range []string{"light", "dark"} {
					if scheme == "light" != (width == 1280) && !depth.Night() {
						continue
					}
					b.Media("screen", scheme)
					for _, found := range browsertest.Eval[[]string](b, contrasts) {
						t.Errorf("%s, %d wide: too little contrast: %s", scheme, width, found)
					}
				}
			}
			nodes := b.Nodes()
			for _, n := range nodes {
				if n.Focusable && n.Name == "" && n.Role != "RootWebArea" && n.Role != "generic" {
					t.Errorf("a screen reader meets a %s without a name", n.Role)
				}
			}
			if len(k.page(k.make()).Charts()) > 0 && !slices.ContainsFunc(nodes, func(n browsertest.Node) bool { return n.Role == "status" }) {
				t.Error("no status that a screen reader announces")
			}
			checkQuiet(t, b)
		})
	}
}

// What has the focus must be seen to have it.
func TestFocusIsSeen(t *testing.T) {
	for _, scheme := range depth.Of([]string{"dark"}, []string{"light", "dark"}) {
		b := browsertest.New(t)
		b.Media("screen", scheme)
		b.Open(kinds[1].html(t, kinds[1].make()))
		b.Do(drawAll)
		stops := 0
		for range 40 {
			b.Press("Tab")
			found := browsertest.Eval[string](b, `(() => {
  const e = document.activeElement, s = getComputedStyle(e), b = e.getBoundingClientRect();
  if (e === document.body) return "end";
  const where = e.localName + " " + (e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 30);
  if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) return where + " has no outline";
  if (b.bottom < 0 || b.top > innerHeight || b.width === 0) return where + " is not in the window";
  return "";
})()`)
			if found == "end" {
				break
			}
			stops++
			if found != "" {
				t.Errorf("%s: %s", scheme, found)
			}
		}
		if stops < 10 {
			t.Errorf("%s: the keyboard stops %d times", scheme, stops)
		}
	}
}
