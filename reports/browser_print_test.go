package reports_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pulley/internal/browsertest"
	"pulley/internal/depth"
)

// mark lays a link over each chart, row and folded part. A PDF has the rectangle of each link, on each page that it touches.
const mark = `(() => {
  const out = [];
  const lay = (e, what) => { const a = document.createElement("a"); what += "/" + out.length; out.push(what + " " + e.textContent.trim().slice(0, 50)); a.href = "https://mark.invalid/" + what; a.textContent = "."; a.style.cssText = "position:absolute;inset:0;font-size:1px;overflow:hidden"; e.style.position = "relative"; e.append(a); };
  document.querySelectorAll("figure.plot").forEach((e) => lay(e, "chart"));
  document.querySelectorAll("details tbody tr:last-child > td:last-child, details > pre, details > dl > dd:last-child, .words p").forEach((e) => lay(e, "folded"));
  return out;
})()`

var (
	pdfObject = regexp.MustCompile(`(?s)(\d+) 0 obj\s*(<<.*?)\bendobj`)
	pdfAnnots = regexp.MustCompile(`(?s)/Annots \[([^\]]*)\]`)
	pdfRef    = regexp.MustCompile(`(\d+) 0 R`)
	pdfURI    = regexp.MustCompile(`/URI \(https://mark\.invalid/(\w+)/(\d+)\)`)
	pdfRect   = regexp.MustCompile(`/Rect \[([0-9.\- ]+)\]`)
)

// marked is where the links of a PDF are: by their names, the heights that they have on each page.
func marked(t *testing.T, pdf []byte) (at map[string]map[int]float64, pages int) {
	t.Helper()
	objects := map[string][]byte{}
	for _, m := range pdfObject.FindAllSubmatch(pdf, -1) {
		objects[string(m[1])] = m[2]
	}
	at = map[string]map[int]float64{}
	for _, o := range objects {
		if !bytes.Contains(o, []byte("/Type /Page\n")) {
			continue
		}
		pages++
		list := pdfAnnots.FindSubmatch(o)
		if list == nil {
			continue
		}
		for _, ref := range pdfRef.FindAllSubmatch(list[1], -1) {
			annotation := objects[string(ref[1])]
			uri, rect := pdfURI.FindSubmatch(annotation), pdfRect.FindSubmatch(annotation)
			if uri == nil || rect == nil {
				continue
			}
			corners := strings.Fields(string(rect[1]))
			low, _ := strconv.ParseFloat(corners[1], 64)
			high, _ := strconv.ParseFloat(corners[3], 64)
			name := string(uri[1]) + "/" + string(uri[2])
			if at[name] == nil {
				at[name] = map[int]float64{}
			}
			at[name][pages] += high - low
		}
	}
	return at, pages
}

// On paper, each chart must be whole on one page, and what is folded must be there, with and without script.
func TestPaperHasAll(t *testing.T) {
	for _, k := range mostKinds() {
		t.Run(k.name, func(t *testing.T) {
			for _, scripted := range depth.Of([]bool{k.name != "chaos"}, []bool{true, false}) {
				b := browsertest.New(t)
				b.Scripts(scripted)
				b.Media("", "dark")
				b.Open(k.html(t, k.make()))
				laid := browsertest.Eval[[]string](b, mark)
				at, pages := marked(t, b.PDF())
				for i, what := range laid {
					if len(at[strings.Fields(what)[0]]) == 0 {
						t.Errorf("scripts %v: %s is on none of %d pages", scripted, laid[i], pages)
					}
				}
				for name, heights := range at {
					if strings.HasPrefix(name, "chart/") && len(heights) != 1 {
						t.Errorf("scripts %v: %s is on %d pages: %v", scripted, name, len(heights), heights)
					}
				}
			}
		})
	}
}

// Paper must be light whatever the screen is, and have the drawings of the record, or what the reader made of them.
func TestPaperIsLight(t *testing.T) {
	for _, choice := range []string{"dark", "system"}[:depth.Of(1, 2)] {
		b := browsertest.New(t)
		b.Media("screen", "dark")
		b.Open(kinds[1].html(t, kinds[1].make()))
		b.Do(drawAll)
		if choice == "dark" {
			b.Do(`document.documentElement.dataset.theme = "dark"`)
		}
		b.Do(`document.querySelector("[data-scale]").click()`)
		b.Media("print", "dark")
		got := browsertest.Eval[string](b, `(() => {
  const s = (e) => getComputedStyle(e), seen = (e) => e.getClientRects().length > 0;
  const figures = [...document.querySelectorAll("figure.plot")];
  return [s(document.body).backgroundColor, s(document.querySelector("figure")).backgroundColor, s(document.querySelector(".f-ink")).fill, s(document.querySelector("h1")).color,
    figures.map((f) => [...f.querySelectorAll(".canvas svg")].filter(seen).length).join(),
    seen(figures[0].querySelector(".live > svg")), seen(figures[1].querySelector(".narrow svg")), [...document.querySelectorAll("button.theme, .tools button, nav")].some(seen)].join(" ");
})()`)
		ones := strings.TrimSuffix(strings.Repeat("1,", 3), ",")
		if want := fmt.Sprintf("rgb(255, 255, 255) rgb(255, 255, 255) rgb(22, 32, 44) rgb(22, 32, 44) %s true true false", ones); got != want {
			t.Errorf("theme %s: %s, want %s", choice, got, want)
		}
	}
}
