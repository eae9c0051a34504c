package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

const evil = "<b>\x1b[31m|`\u202e_x_"

func plot(name string) *chart.Plot {
	return &chart.Plot{
		Name: name, Title: "Rates", Hint: "further right is faster", Says: "The most: push with 3.", X: chart.Axis{Label: "nodes/s", Scale: chart.Linear}, Y: chart.Axis{Scale: chart.Rows, Names: []string{"fanout " + evil}},
		Series: []chart.Series{{Name: "push" + evil, Kind: chart.Dots, Points: []chart.Point{{X: 3, Y: 0, Lo: 2, Hi: 4}}}},
	}
}

func full() *page.Page {
	v := 3.0
	table := &page.Table{Says: "Rows", Heads: []page.Head{{Name: "backend", Words: true}, {Name: "rate", Unit: "/s"}}}
	for i := range 100 {
		table.Rows = append(table.Rows, page.Row{Doubtful: i == 1, Cells: []page.Cell{{Text: fmt.Sprintf("row %d %s", i, evil), Mark: page.Bad}, page.Figure(&v, units.Number, "[2 to 4]")}})
	}
	return &page.Page{
		Kind: "compare", Answer: "push is " + evil, State: page.State{Text: "all valid " + evil, Mark: page.Good}, Facts: []string{"2 cores", evil}, Repeat: "pulley compare " + evil, Tool: "pulley 1",
		First: []page.Block{{Charts: []*chart.Plot{plot("first")}}, {Heat: &page.Heat{Says: "Times", Columns: []string{"push", evil}, Rows: []page.HeatRow{{Name: evil, Cells: []page.HeatCell{{Text: "best", Best: true}, {Text: "2.00×", Shade: 0.5}}}}}}},
		Sections: []page.Section{
			{ID: "cost", Title: "Cost " + evil, Lead: "Lead " + evil, Blocks: []page.Block{{Charts: []*chart.Plot{plot("second")}}, {Heading: "Head", Table: table}, {Fold: "More", List: []page.Item{{Text: "item " + evil, Where: "there"}}}}},
			{ID: "method", Title: "Method", Folded: true, Blocks: []page.Block{{Text: "text " + evil}, {Code: "code\n```\n" + evil}, {Entries: []page.Entry{{Name: "name", Text: "entry " + evil}}}, {Drawing: &page.Drawing{SVG: []byte("<svg/>"), Says: "drawn " + evil}}}},
		},
		Record: []page.File{{Name: "summary.json", Data: []byte("{\"a\": \"</script>\"}")}, {Name: "empty", Data: nil}},
	}
}

func render(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The three forms must have the same words and figures in the same order.
func TestFormsAgree(t *testing.T) {
	p := full()
	words := []string{"push is", "all valid", "2 cores", "Rates", "Times", "best", "2.00×", "Cost", "Lead", "The most: push with 3.", "Head", "row 0", "[2 to 4]", "row 1", "row 39", "More", "item", "there", "Method", "text", "code", "name", "entry", "drawn"}
	for form, text := range map[string]string{"html": bare(render(t, p.WriteHTML)), "markdown": strings.ReplaceAll(render(t, p.WriteMarkdown), `\`, ""), "text": render(t, p.WriteText)} {
		at := 0
		for _, word := range words {
			i := strings.Index(text[at:], word)
			if i < 0 {
				t.Errorf("%s lacks %q, or has it too early", form, word)
				continue
			}
			at += i
		}
		if !strings.Contains(text, "Repeat this") {
			t.Errorf("%s does not say how to repeat it", form)
		}
	}
}

// bare is a page's body without elements; a chart's description is text.
func bare(page string) string {
	_, body, _ := strings.Cut(page, "<h1>")
	body, _, _ = strings.Cut(body, `<script type="application/json"`)
	body = regexp.MustCompile(`<img [^>]* alt="([^"]*)"[^>]*>`).ReplaceAllString(body, "$1")
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")
}

// What a record says must reach neither a terminal's control codes nor Markdown's marks.
func TestHostileTexts(t *testing.T) {
	p := full()
	text, markdown := render(t, p.WriteText), render(t, p.WriteMarkdown)
	for form, got := range map[string]string{"text": text, "markdown": markdown} {
		for _, r := range got {
			if r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' {
				t.Fatalf("%s has the control character %q", form, r)
			}
		}
	}
	fence := ""
	for _, line := range strings.Split(markdown, "\n") {
		switch {
		case line == fence:
			fence = ""
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = line
		}
		if fence == "" && strings.Contains(line, "<b>") {
			t.Errorf("an element in Markdown: %q", line)
		}
		if strings.HasPrefix(line, "| row") && len(regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1)) != 2 {
			t.Errorf("a pipe of a cell ends it: %q", line)
		}
	}
	if fence != "" {
		t.Error("a fence has no end")
	}
	if !strings.Contains(markdown, "60 rows more.") || !strings.Contains(text, "40 rows more") {
		t.Error("the rows that are left out are not named")
	}
}

func TestFailingWriters(t *testing.T) {
	p := full()
	for _, write := range []func(io.Writer) error{p.WriteHTML, p.WriteMarkdown, p.WriteText} {
		if err := write(failing{}); !errors.Is(err, errFull) {
			t.Errorf("%v, want the writer's error", err)
		}
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestExtract(t *testing.T) {
	p := full()
	html := render(t, p.WriteHTML)
	files, err := page.Extract([]byte(html))
	if err != nil || len(files) != 2 || files[0].Name != "summary.json" || !bytes.Equal(files[0].Data, p.Record[0].Data) || len(files[1].Data) != 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for change, want := range map[string]string{"data-name=\"../summary.json\"": "plain", "data-name=\"a/b/c\"": "plain", "data-name=\".hidden\"": "plain", "data-name=\"/abs\"": "plain"} {
		if _, err := page.Extract([]byte(strings.Replace(html, `data-name="summary.json"`, change, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	damaged := regexp.MustCompile(`data-sha256="[0-9a-f]{4}`).ReplaceAllString(html, `data-sha256="0000`)
	if _, err := page.Extract([]byte(damaged)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged page: %v", err)
	}
	if _, err := page.Extract([]byte("<html>")); err == nil {
		t.Error("no page: no error")
	}
}

func TestJoin(t *testing.T) {
	one, two := full(), full()
	two.State = page.State{Text: "fail", Mark: page.Bad}
	if page.Join([]page.Part{{Name: "a", Page: one}}) != one {
		t.Error("a single part is not its own page")
	}
	p := page.Join([]page.Part{{Name: "out/a", Page: one}, {Name: "out/b", Page: two}})
	if p.State.Mark != page.Bad || p.Repeat != one.Repeat {
		t.Errorf("%v, %q", p.State, p.Repeat)
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for _, s := range p.Sections {
		if ids[s.ID] {
			t.Errorf("two sections %s", s.ID)
		}
		ids[s.ID] = true
	}
	for _, c := range p.Charts() {
		if names[c.Name] {
			t.Errorf("two charts %s", c.Name)
		}
		names[c.Name] = true
	}
	if one.First[0].Charts[0].Name != "first" || one.Sections[0].ID != "cost" {
		t.Error("the parts were changed")
	}
	files, err := page.Extract([]byte(render(t, p.WriteHTML)))
	if err != nil || len(files) != 4 || files[2].Name != "2/summary.json" {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// A pull request shows some 65,000 characters.
func TestMarkdownIsBounded(t *testing.T) {
	p := full()
	p.Sections = append(p.Sections, page.Section{ID: "long", Title: "Long", Blocks: []page.Block{{Text: strings.Repeat("word ", 30_000)}}}, page.Section{ID: "last", Title: "Last", Blocks: []page.Block{{Text: "the end"}}})
	got := render(t, p.WriteMarkdown)
	if len(got) > 64_000 || !strings.Contains(got, "The HTML page has more: Long.") || !strings.Contains(got, "the end") || !strings.Contains(got, "## Repeat this") {
		t.Errorf("%d bytes, or another text", len(got))
	}
}

// Samples that the manifest has already are not in the page twice, and come back as they were; others are carried.
func TestSamplesAreMadeOfTheManifest(t *testing.T) {
	manifest := `{"schema": 9, "samples": [` + "\n" + `  {"run": 1, "text": "a < b"},` + "\n" + `  {"run": 2, "list": []}]}`
	same := `{"schema":9,"run":1,"text":"a < b"}` + "\n" + `{"schema":9,"run":2,"list":[]}` + "\n"
	for name, c := range map[string]struct {
		samples string
		made    bool
	}{"the same": {same, true}, "others": {same + "\n", false}, "none": {"", false}} {
		p := &page.Page{Record: []page.File{{Name: "1/manifest.json", Data: []byte(manifest)}, {Name: "1/samples.ndjson", Data: []byte(c.samples)}, {Name: "samples.ndjson", Data: []byte(same)}}}
		var html bytes.Buffer
		if err := p.WriteHTML(&html); err != nil {
			t.Fatal(err)
		}
		if made := strings.Contains(html.String(), fmt.Sprintf(`data-size="%d"></script>`, len(same))); made != c.made {
			t.Errorf("%s: made of the manifest: %v", name, made)
		}
		got, err := page.Extract(html.Bytes())
		if err != nil || len(got) != 3 || string(got[1].Data) != c.samples || string(got[2].Data) != same {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	damaged := `<script type="application/gzip" data-name="samples.ndjson" data-sha256="` + strings.Repeat("0", 64) + `" data-size="1"></script>`
	if _, err := page.Extract([]byte(damaged)); err == nil || !strings.Contains(err.Error(), "no manifest.json") {
		t.Errorf("without a manifest: %v", err)
	}
}
