package reports_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pulley/internal/browsertest"
	"pulley/internal/depth"
)

// drawAll unfolds the page, and has its script draw every chart, as it does for one that gets the focus.
const drawAll = `(() => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  document.querySelectorAll(".canvas").forEach((c) => c.dispatchEvent(new FocusEvent("focus")));
  const left = [...document.querySelectorAll("figure.plot")].filter((f) => f.querySelector(".series") && !f.querySelector(".canvas.live")).length;
  if (left) throw new Error(left + " charts are not drawn");
})()`

// awaitDrawn waits until the page's script has drawn the charts in the window, which the browser tells it of after a frame.
const awaitDrawn = `(async () => {
  const left = () => [...document.querySelectorAll("figure.plot")].filter((f) => {
    const { top, bottom } = f.getBoundingClientRect();
    return f.querySelector(".series") && !f.querySelector(".canvas.live") && bottom > 0 && top < innerHeight;
  }).length;
  for (let frames = 0; left(); frames++) {
    if (frames === 2000) throw new Error(left() + " charts are not drawn");
    await new Promise(requestAnimationFrame);
  }
})()`

// scrollThrough goes to every chart, so that its script draws it as it comes near.
const scrollThrough = `(async () => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  for (const f of document.querySelectorAll("figure.plot")) {
    if (!f.querySelector("svg .series")) continue;
    f.scrollIntoView();
    while (!f.querySelector(".canvas.live")) await new Promise((r) => setTimeout(r, 5));
  }
  scrollTo(0, 0);
})()`

// The page must say nothing to the console, load nothing but itself, and break no rule of its own policy. By day,
// TestPagesAreAccessible checks that of most kinds, since it reads their pages, too.
func TestPagesAreQuiet(t *testing.T) {
	for _, k := range kinds {
		if !depth.Night() && slices.ContainsFunc(mostKinds(), func(other kind) bool { return other.name == k.name }) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			b := browsertest.New(t)
			b.Open(k.html(t, k.make()))
			b.Do(scrollThrough)
			b.Media("screen", "dark")
			checkQuiet(t, b)
		})
	}
}

// checkQuiet changes the theme. What the page says to the console, and its policy, the tab checks by itself.
func checkQuiet(t *testing.T, b *browsertest.Tab) {
	t.Helper()
	b.Do(`document.querySelector(".theme").click()`)
	for _, r := range b.Requests() {
		if !strings.HasPrefix(r, "data:") && !strings.HasSuffix(r, "/page.html") {
			t.Errorf("the page asks for %q", r)
		}
	}
}

// The reader's choice must win over the system's, and be remembered.
func TestThemes(t *testing.T) {
	b := browsertest.New(t)
	html := kinds[1].html(t, kinds[1].make())
	const colors = `[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector(".f-ink")).fill, getComputedStyle(document.documentElement).colorScheme].join(" ")`
	const light, dark = "rgb(246, 248, 250) rgb(22, 32, 44) light", "rgb(13, 18, 24) rgb(232, 237, 243) dark"
	for _, c := range []struct{ scheme, choice, want string }{
		{"light", "system", light}, {"dark", "system", dark}, {"light", "dark", dark}, {"dark", "light", light}, {"dark", "dark", dark},
	} {
		b.Media("screen", c.scheme)
		b.Open(html)
		for range 3 { // of the choices
			if browsertest.Eval[string](b, `document.querySelector(".theme").textContent`) == "Theme: "+c.choice {
				break
			}
			b.Do(`document.querySelector(".theme").click()`)
		}
		got := browsertest.Eval[string](b, colors)
		if c.choice == "system" {
			got = strings.TrimSuffix(strings.TrimSuffix(got, "light dark"), " ") + " " + c.scheme
		}
		if got != c.want {
			t.Errorf("the system prefers %s, the reader chose %s: %s, want %s", c.scheme, c.choice, got, c.want)
		}
		b.Open(html)
		if got := browsertest.Eval[string](b, `document.querySelector(".theme").textContent`); got != "Theme: "+c.choice {
			t.Errorf("after %s, another page begins with %q", c.choice, got)
		}
	}
}

// Nothing of a record may become an element or run, and tips and labels must show its texts as they are.
func TestNothingOfARecordRuns(t *testing.T) {
	for _, k := range kinds {
		for _, all := range depth.Of([]bool{k.name == "gate"}, []bool{false, true}) { // with other words in decisive fields, they show less
			t.Run(fmt.Sprintf("%s/all=%v", k.name, all), func(t *testing.T) {
				r := k.make()
				poison(reflect.ValueOf(r), all, map[string]string{})
				b := browsertest.New(t)
				b.Open(k.html(t, r))
				b.Do(drawAll)
				found := browsertest.Eval[string](b, `(() => {
  const allowed = new Set("html head meta link title style body a header p h1 strong span ul li main div nav section h2 h3 details summary pre code figure figcaption svg g path rect circle text clippath table caption thead tbody tr th td small dl dt dd footer script button img".split(" "));
  const out = [];
  if (window.x !== undefined) out.push("a text of the record ran");
  for (const e of document.querySelectorAll("*")) {
    if (!allowed.has(e.localName.toLowerCase())) out.push("element " + e.localName);
    for (const a of e.attributes) if (/^on/i.test(a.name) || a.name === "style" && !e.matches(".tip") || a.name === "id" && a.value === "evil" || /^(href|src)$/.test(a.name) && !/^(#|data:)/.test(a.value)) out.push(e.localName + " has " + a.name + "=" + a.value);
  }
  for (const e of document.querySelectorAll("img")) if (!e.src.startsWith("data:image/svg+xml")) out.push("an image of " + e.src);
  const scripts = document.querySelectorAll("script:not([type='application/gzip'])").length;
  if (scripts !== 2) out.push(scripts + " scripts");
  return out.slice(0, 10).join("; ");
})()`)
				if found != "" {
					t.Error(found)
				}
				switch k.name { // those with texts of the record in their charts, whatever their kinds are
				case "compare", "gate":
					literal(t, b, all, "tip", "label")
				case "history":
					literal(t, b, false, "label")
				}
			})
		}
	}
}

// literal goes through points of all charts, and wants a text of the record among their tips and labels, unless there may be no chart.
func literal(t *testing.T, b *browsertest.Tab, none bool, where ...string) {
	t.Helper()
	texts := browsertest.Eval[[]string](b, `(() => {
  const out = [];
  for (const c of [...document.querySelectorAll(".canvas.live")].slice(0, 4)) {
    for (let i = 0; i < 12; i++) {
      c.dispatchEvent(new KeyboardEvent("keydown", { key: i % 3 ? "ArrowRight" : "ArrowDown", bubbles: true }));
      out.push("tip " + c.querySelector(".tip").textContent);
    }
    for (const l of c.closest("figure").querySelectorAll(".title, .legend span, .canvas text")) out.push("label " + l.textContent);
  }
  return out;
})()`)
	if len(texts) == 0 && none {
		return
	}
	for _, kind := range where {
		found := slices.ContainsFunc(texts, func(text string) bool {
			return strings.HasPrefix(text, kind) && slices.ContainsFunc(attacks, func(evil string) bool { return strings.Contains(text, evil[:min(len(evil), 12)]) })
		})
		if !found {
			t.Errorf("no %s shows a text of the record as it is: %.300q", kind, texts)
		}
	}
}

// Without its script, a page must lack nothing but what answers to the reader: charts, tables and folded parts are there.
func TestPagesWithoutScript(t *testing.T) {
	for _, k := range mostKinds() {
		t.Run(k.name, func(t *testing.T) {
			b := browsertest.New(t)
			b.Scripts(false)
			b.Open(k.html(t, k.make()))
			for _, width := range []int{360, 1280} {
				b.Size(width, 800)
				found := browsertest.Eval[string](b, `(() => {
  const out = [], seen = (e) => e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().height > 0;
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const f of document.querySelectorAll("figure.plot")) {
    const drawn = [...f.querySelectorAll(".canvas svg")].filter(seen);
    if (drawn.length !== 1) out.push(f.dataset.chart + " shows " + drawn.length + " drawings");
    else if (!drawn[0].querySelector(".series *")) out.push(f.dataset.chart + " has no series");
    for (const t of drawn[0]?.querySelectorAll("text") ?? []) { const b = t.getBoundingClientRect(), s = drawn[0].getBoundingClientRect(); if (b.left < s.left - 1 || b.right > s.right + 1) out.push(f.dataset.chart + " cuts " + t.textContent); }
  }
  if (document.querySelector("button")) out.push("a button that does nothing");
  if (document.documentElement.scrollWidth > innerWidth) out.push("the page is wider than the window: " + document.documentElement.scrollWidth);
  for (const t of document.querySelectorAll("details table")) if (!seen(t)) out.push("a folded table does not unfold");
  return out.join("; ");
})()`)
				if found != "" {
					t.Errorf("%d pixels wide: %s", width, found)
				}
			}
		})
	}
}

// A reader's five questions must be answered within the first two screens of a laptop: which is fastest, is that real, what is the
// p99.9 and can it be trusted, what did it cost in WAL, and how is it repeated. Of eight scenarios on five designs, too.
func TestQuestionsAreAnsweredAtTheTop(t *testing.T) {
	for name, of := range map[string]*comparison{"3 scenarios": campaign(3, 5, 6), "8 scenarios": campaign(8, 5, 6)} {
		const width, height = 1280, 800
		b := browsertest.New(t)
		b.Size(width, height)
		b.Open(kinds[0].html(t, of))
		found := browsertest.Eval[map[string]float64](b, `(() => {
  const below = (e) => e ? e.getBoundingClientRect().bottom + scrollY : 1e9;
  const first = (selector, has) => [...document.querySelectorAll(selector)].find((e) => has.test(e.textContent));
  const cell = first("table", /p99\.9 of a hop, and beneath it the WAL/)?.querySelector("tbody td"); // of the first scenario
  return {
    "which is fastest": Math.max(below(document.querySelector("h1")), below(first(".heat td", /best/))),
    "is it real": Math.max(below(document.querySelector(".state")), below(first(".heat caption", /do not tell/))),
    "the p99.9": below(/ms|µs/.test(cell?.textContent ?? "") ? cell : null),
    "the WAL": below(/B$/.test(cell?.querySelector("small")?.textContent ?? "") ? cell.querySelector("small") : null),
    "how to repeat it": below(document.querySelector("#repeat summary")),
  };
})()`)
		for _, question := range []string{"which is fastest", "is it real", "the p99.9", "the WAL", "how to repeat it"} {
			if at, ok := found[question]; !ok || at > 2*height {
				t.Errorf("%s: %s is answered %.0f pixels down, want %d at most", name, question, at, 2*height)
			}
		}
	}
}

// A campaign must stay a file that can be sent, and a page that a browser lays out at once: time differs between machines, elements
// do not.
func TestPageOfACampaign(t *testing.T) {
	k := kinds[0]
	html := k.html(t, campaign(8, 5, 6))
	if len(html) > 3<<20 {
		t.Errorf("the page of 8 scenarios on 5 designs has %d bytes, want 3 MiB at most", len(html))
	}
	b := browsertest.New(t)
	b.Open(html)
	atFirst := browsertest.Eval[int](b, `document.querySelectorAll("*").length`)
	drawn := browsertest.Eval[int](b, `document.querySelectorAll(".canvas.live").length`)
	charts := bytes.Count(html, []byte("<figure"))
	if atFirst > 60_000 || drawn > charts/3 {
		t.Errorf("%d elements, %d of %d charts drawn before the reader came near", atFirst, drawn, charts)
	}
	t.Logf("%d bytes, %d elements, %d charts", len(html), atFirst, charts)
}
