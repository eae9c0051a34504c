package reports_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pulley/internal/browsertest"
	"pulley/internal/depth"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

// The script's drawing must be like the one that readers without it see: the same texts, limits and series, in places that differ by no
// more than a text's width does between two programs that measure it.
func TestScriptDrawsAlike(t *testing.T) {
	for _, k := range mostKinds() {
		t.Run(k.name, func(t *testing.T) {
			b := browsertest.New(t)
			b.Open(k.html(t, k.make()))
			b.Do(drawAll)
			for _, c := range []struct {
				of    string
				width int
			}{{"wide", 640}, {"narrow", 330}} {
				found := browsertest.Eval[string](b, fmt.Sprintf(`(async () => {
  const out = [];
  const live = [...document.querySelectorAll(".canvas.live")], chosen = live.filter((_, i) => i %% Math.ceil(live.length / %[3]d) === 0);
  for (const c of chosen) c.style.width = "%[2]dpx";
  for (const c of chosen) for (const d of c.children) if (d.matches(".wide, .narrow")) d.style.display = d.matches(".%[1]s") ? "block" : "none";
  while (chosen.some((c) => c.querySelector(":scope > svg").viewBox.baseVal.width !== %[2]d)) await new Promise((r) => setTimeout(r, 5));
  for (const c of chosen) {
    const f = c.closest("figure");
    const was = f.querySelector(".%[1]s svg"), is = c.querySelector(":scope > svg"), at = f.dataset.chart + ": ";
    const size = (s) => s.viewBox.baseVal;
    if (Math.abs(size(was).height - size(is).height) > 1) out.push(at + "heights " + size(was).height + " and " + size(is).height);
    const texts = (s) => [...s.querySelectorAll("text")].map((e) => ({ text: e.textContent, x: +e.getAttribute("x"), y: +e.getAttribute("y"), anchor: e.getAttribute("text-anchor"), size: e.getAttribute("font-size"), cls: e.getAttribute("class"), turned: e.hasAttribute("transform") }));
    const a = texts(was), b = texts(is), key = (t) => t.text + t.size + t.cls;
    const one = a.map(key).sort().join("|"), two = b.map(key).sort().join("|");
    if (one !== two) { out.push(at + "texts\n" + one + "\n" + two); continue; }
    const series = (s) => [...s.querySelectorAll(".series")].map((g) => g.dataset.series).join();
    if (series(was) !== series(is)) out.push(at + "series " + series(was) + " and " + series(is));
    for (const t of a.filter((t) => !t.turned)) {
      const near = b.filter((u) => key(u) === key(t)).map((u) => Math.abs(u.y - t.y));
      if (Math.min(...near) > 3) out.push(at + t.text + " is " + Math.min(...near) + " higher or lower");
    }
    // where the series are, as far as both have rounded the same
    const box = (s, g) => s.querySelectorAll(".series")[g].getBBox();
    for (let g = 0; g < is.querySelectorAll(".series").length; g++) {
      const p = box(was, g), q = box(is, g);
      if (Math.abs(p.x - q.x) > 4 || Math.abs(p.y - q.y) > 4 || Math.abs(p.width - q.width) > 6 || Math.abs(p.height - q.height) > 6) out.push(at + "series " + g + " spans " + [p.x, p.y, p.width, p.height].map(Math.round) + " and " + [q.x, q.y, q.width, q.height].map(Math.round));
    }
  }
  return out.slice(0, 12).join("\n");
})()`, c.of, c.width, depth.Of(5, 100)))
				if found != "" {
					t.Errorf("%s:\n%s", c.of, found)
				}
			}
		})
	}
}

// Tips and ticks must have the text that Go gives a figure.
func TestScriptFormatsAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p := &page.Page{Kind: "test", State: page.State{Mark: page.Good}}
	var charts []*chart.Plot
	figures := 0
	for _, u := range []units.Unit{units.None, units.Nanoseconds, units.Seconds, units.ByteCount, units.Share, units.Ratio, units.Percentile} {
		c := &chart.Plot{Name: "all", Title: string(u), X: chart.Axis{Scale: chart.Log, Unit: u}, Y: chart.Axis{Scale: chart.Rows, Names: []string{"row"}}}
		s := chart.Series{Name: "it", Kind: chart.Dots}
		for i := range depth.Of(150, 380) {
			v := math.Pow(10, random.Float64()*18-6)
			switch {
			case i < 40:
				v = []float64{0.9996, 9.996, 99.96, 999.4, 999.6, 9_999, 1e4, 999_999, 1e-5, 1.25e-7, 5, 850, 1e9, 0.0001}[i%14]
			case u == units.Percentile:
				v = 1 + math.Pow(10, random.Float64()*4)
			}
			text := fmt.Sprintf("%.6g", v) // as much as a page's data have
			_, _ = fmt.Sscan(text, &v)
			if u == units.Percentile && v <= 1 {
				continue
			}
			s.Points = append(s.Points, chart.Point{X: v, Note: u.Format(v)})
			figures++
		}
		c.Series = []chart.Series{s}
		charts = append(charts, c)
	}
	p.First = []page.Block{{Charts: charts}}
	var html bytes.Buffer
	if err := p.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	b := browsertest.New(t)
	b.Open(html.Bytes())
	b.Do(drawAll)
	found := browsertest.Eval[string](b, fmt.Sprintf(`(() => {
  const out = [];
  let n = 0;
  for (const c of document.querySelectorAll(".canvas.live")) {
    let last = null;
    for (;;) {
      c.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
      const spot = c.querySelector(".spot"), [, , shown, want] = c.querySelector(".tip").textContent.split("\n");
      if (spot === last) break; // at the last one, nothing happens
      last = spot;
      if (shown !== want) out.push(c.closest("figure").querySelector(".title").textContent + ": " + shown + ", want " + want);
      if (++n > 10000) break;
    }
  }
  return (n !== %d ? n + " figures; " : "") + out.slice(0, 20).join("; ");
})()`, figures))
	if found != "" {
		t.Error(found)
	}
}

// reader is a page with one chart of lines and one of rows, and what a reader sees of the first.
type reader struct {
	*browsertest.Tab
	t *testing.T
}

func newReader(t *testing.T) *reader {
	lines := &chart.Plot{Name: "lines", Title: "Lines", X: chart.Axis{Label: "size", Scale: chart.Log}, Y: chart.Axis{Label: "cost", Scale: chart.Log, Unit: units.Nanoseconds}}
	for i, name := range []string{"one", "two"} {
		s := chart.Series{Name: name, Kind: chart.Lines, Style: i}
		for _, x := range []float64{1, 10, 100, 1000} {
			y := 1e6 * x * float64(i+1)
			s.Points = append(s.Points, chart.Point{X: x, Y: y, Lo: y * 0.9, Hi: y * 1.2, Note: "6 runs"})
		}
		lines.Series = append(lines.Series, s)
	}
	rows := &chart.Plot{Name: "rows", Title: "Rows", X: chart.Axis{Label: "rate", Scale: chart.Log}, Y: chart.Axis{Scale: chart.Rows, Names: []string{"first", "second"}},
		Series: []chart.Series{{Name: "dots", Kind: chart.Dots, Points: []chart.Point{{X: 10, Y: 0}, {X: 100, Y: 1}}}}}
	p := &page.Page{Kind: "test", Answer: "It works.", State: page.State{Text: "valid", Mark: page.Good}, First: []page.Block{{Charts: []*chart.Plot{lines, rows}}}}
	var html bytes.Buffer
	if err := p.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	r := &reader{browsertest.New(t), t}
	r.Open(html.Bytes())
	r.Do(drawAll)
	return r
}

const first = `document.querySelector("figure.plot")`

// at is where the i-th marker of a series is in the window.
func (r *reader) at(series, i int) (x, y float64) {
	r.t.Helper()
	at := browsertest.Eval[[]float64](r.Tab, fmt.Sprintf(`(() => {
  const b = %s.querySelector(".live > svg .series[data-series='%d']").querySelectorAll("path.f-s%d")[%d].getBoundingClientRect();
  return [b.x + b.width / 2, b.y + b.height / 2];
})()`, first, series, series, i))
	return at[0], at[1]
}

func (r *reader) tip() string {
	r.t.Helper()
	return browsertest.Eval[string](r.Tab, first+`.querySelector("[role=status]").textContent`)
}

func (r *reader) wants(what, got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// labels are those of the X axis.
func (r *reader) labels() string {
	r.t.Helper()
	return browsertest.Eval[string](r.Tab, `[...`+first+`.querySelectorAll(".live > svg > text.f-ink[text-anchor=middle]")].map((t) => t.textContent).join(" ")`)
}

// center is the middle of what a selector finds in the first chart.
func (r *reader) center(selector string) (x, y float64) {
	r.t.Helper()
	quoted, _ := json.Marshal(selector)
	at := browsertest.Eval[[]float64](r.Tab, fmt.Sprintf(`(() => { const b = %s.querySelector(%s).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`, first, quoted))
	return at[0], at[1]
}

const allLabels, tipOfTwo = "1 10 100 1,000", "two\nsize: 10.0\ncost: 20.0 ms\n[18.0 ms, 24.0 ms]\n6 runs"

func TestChartsAnswerTheMouse(t *testing.T) {
	r := newReader(t)
	x, y := r.at(1, 1)
	r.Move(x+3, y-3)
	r.wants("pointed at", r.tip(), tipOfTwo)
	r.Move(5, 5)
	r.wants("pointed elsewhere", r.tip(), "")
	r.Touch(x, y)
	r.wants("touched", r.tip(), tipOfTwo)

	full := r.labels()
	if !strings.Contains(full, "1,000") {
		t.Fatalf("labels %s", full)
	}
	toX, _ := r.at(1, 2)
	r.Drag(x-4, y+30, toX+4, y-10)
	if got := r.labels(); strings.Contains(got, "1,000") || !strings.Contains(got, "50") {
		t.Errorf("dragged from 10 to 100: labels %s", got)
	}
	x, y = r.center(".live > svg")
	r.Click(x, y, 2)
	r.wants("clicked twice", r.labels(), full)

	x, y = r.center("[data-scale=x]")
	r.Click(x, y, 1)
	if got := r.labels(); !strings.HasPrefix(got, "0 ") {
		t.Errorf("linear: labels %s", got)
	}
	r.Click(x, y, 1)
	r.wants("logarithmic again", r.labels(), full)

	x, y = r.center(".legend li:nth-child(2) button")
	r.Click(x, y, 1)
	r.wants("hidden", browsertest.Eval[string](r.Tab, `[...`+first+`.querySelectorAll(".live > svg .series")].map((g) => g.dataset.series).join()`), "0")
	r.wants("its button", browsertest.Eval[string](r.Tab, first+`.querySelector(".legend li:nth-child(2) button").getAttribute("aria-pressed")`), "false")
	r.Click(x, y, 1)
	r.wants("shown again", browsertest.Eval[string](r.Tab, `[...`+first+`.querySelectorAll(".live > svg .series")].map((g) => g.dataset.series).join()`), "0,1")
}

// The keyboard must do what the mouse does, in the order of the page.
func TestChartsAnswerTheKeyboard(t *testing.T) {
	r := newReader(t)
	focused := func() string {
		return browsertest.Eval[string](r.Tab, `document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent`)
	}
	var order []string
	for range 10 {
		r.Press("Tab")
		order = append(order, strings.SplitN(focused(), ".", 2)[0])
	}
	r.wants("in order", strings.Join(order, "|"), "Skip to the report|Theme: system|one|two|Lines|x: log|y: log|dots|Rows|x: log")
	r.Do(`document.querySelector(".theme").focus()`)
	r.Press("Tab", "Tab", "Enter")
	r.wants("Enter hides", browsertest.Eval[string](r.Tab, `[...`+first+`.querySelectorAll(".live > svg .series")].map((g) => g.dataset.series).join()`), "0")
	r.Press(" ")
	r.wants("Space shows", browsertest.Eval[string](r.Tab, `[...`+first+`.querySelectorAll(".live > svg .series")].map((g) => g.dataset.series).join()`), "0,1")
	r.Press("Tab", "ArrowRight", "ArrowRight", "ArrowDown")
	r.wants("arrows", r.tip(), tipOfTwo)
	r.Press("Escape")
	r.wants("Escape", r.tip(), "")
	full := r.labels()
	r.Press("ArrowRight", "ArrowRight", "+")
	if got := r.labels(); strings.Contains(got, "1,000") {
		t.Errorf("plus: labels %s", got)
	}
	r.Press("-")
	r.wants("minus", r.labels(), full)
	r.Press("+", "+", "0")
	r.wants("zero", r.labels(), full)
	r.Press("+", "Tab")
	r.wants("then", focused(), "Show all")
	r.Press("Enter")
	r.wants("Show all", r.labels(), full)
	r.wants("its place", strings.SplitN(focused(), ".", 2)[0], "Lines")
	r.Press("Tab", " ")
	if got := r.labels(); !strings.HasPrefix(got, "0 ") {
		t.Errorf("Space on the scale: labels %s", got)
	}
}

// A chart must be as wide as its place and its texts of one size, whatever the window becomes; what the reader chose stays.
func TestChartsFollowTheWindow(t *testing.T) {
	r := newReader(t)
	x, y := r.center(".legend li:nth-child(2) button")
	r.Click(x, y, 1)
	for _, width := range []int{360, 700, 2560, 1280} {
		r.Size(width, 800)
		r.Until(`[...document.querySelectorAll(".canvas.live")].every((c) => Math.abs(c.clientWidth - c.querySelector("svg").viewBox.baseVal.width) <= 1)`)
		found := browsertest.Eval[string](r.Tab, `(() => {
  const out = [];
  for (const s of document.querySelectorAll(".live > svg")) {
    const scale = s.getBoundingClientRect().width / s.viewBox.baseVal.width;
    if (Math.abs(scale - 1) > 0.01) out.push("stretched by " + scale);
    for (const t of s.querySelectorAll("text")) { const b = t.getBoundingClientRect(), o = s.getBoundingClientRect(); if (b.left < o.left - 1 || b.right > o.right + 1 || b.top < o.top - 2 || b.bottom > o.bottom + 2) out.push(t.textContent + " is cut"); }
  }
  if (document.documentElement.scrollWidth > innerWidth) out.push("the page is wider than the window");
  return out.join("; ") + [...`+first+`.querySelectorAll(".live > svg .series")].length;
})()`)
		r.wants(fmt.Sprintf("%d wide", width), found, "1")
	}
	px, py := r.at(0, 1)
	r.Move(px, py)
	r.wants("pointed at", r.tip(), strings.Replace(strings.Replace(tipOfTwo, "two", "one", 1), "20.0 ms\n[18.0 ms, 24.0 ms]", "10.0 ms\n[9.00 ms, 12.0 ms]", 1))
}
