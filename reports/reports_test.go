package reports_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/internal/depth"
	"pulley/reports"
	"pulley/reports/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./reports -update rewrites it):\n%s", path, diff)
	}
}

func situations() map[string]func() (*record.Summary, *record.Manifest) {
	return map[string]func() (*record.Summary, *record.Manifest){
		"full": synthetic,
		"empty": func() (*record.Summary, *record.Manifest) {
			return &record.Summary{Schema: 1}, &record.Manifest{Schema: 1}
		},
		"nothing at all": func() (*record.Summary, *record.Manifest) { return nil, nil },
		"no manifest": func() (*record.Summary, *record.Manifest) {
			s, _ := synthetic()
			return s, nil
		},
		"one size": func() (*record.Summary, *record.Manifest) {
			return only(func(r record.Row) bool { return r.Size == 100 })
		},
		"one backend": func() (*record.Summary, *record.Manifest) {
			return only(func(r record.Row) bool { return r.Backend == "pull:scan=app" })
		},
		"differences": differences,
		"nulls":       nulls,
		"invalid":     invalid,
		"interrupted": interrupted,
		"zeros":       zeros,
		"hostile":     hostile,
	}
}

func only(keep func(record.Row) bool) (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	rows, samples := s.Rows, m.Samples
	s.Rows, m.Samples, s.Claims = nil, nil, nil
	kept := make(map[record.Key]bool)
	for _, r := range rows {
		if keep(r) {
			s.Rows = append(s.Rows, r)
			kept[r.Key()] = true
		}
	}
	for _, sample := range samples {
		if kept[sample.Key()] {
			m.Samples = append(m.Samples, sample)
		}
	}
	return s, m
}

func differences() (*record.Summary, *record.Manifest) {
	s, m := only(func(r record.Row) bool { return r.Scenario == "chain" && r.Size == 10 && r.Backend != "memory" })
	for i := range s.Rows {
		s.Rows[i].Mode = record.ModeAlone
		more := s.Rows[i]
		more.Mode = record.ModeSaturated
		s.Rows = append(s.Rows, more)
	}
	for _, r := range s.Rows {
		if r.Backend == "push" {
			continue
		}
		for i, figure := range []string{record.FigureTime, record.FigureRowsRead, record.FigureCommits} {
			d := record.Difference{
				Scenario: r.Scenario, Size: r.Size, Mode: r.Mode, Backend: r.Backend, Baseline: "push", Figure: figure,
				Ratio: &record.Spread{Median: 2, Lo: 1.5, Hi: 3}, Confidence: 0.99, Decision: record.Worse,
			}
			if i == 0 && r.Mode == record.ModeSaturated {
				d.Ratio.Lo, d.Decision = 0.9, record.Unclear
			}
			s.Differences = append(s.Differences, d)
		}
	}
	return s, m
}

func nulls() (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	for i := range s.Rows {
		r := &s.Rows[i]
		r.NodesPerS, r.HopNS, r.InstanceNS, r.RowsReadPerNode = nil, nil, nil, nil
		r.StatementsPerNode, r.CommitsPerNode, r.WALBytesPerNode = nil, nil, nil
		r.Warnings = []string{"nothing could be measured"}
	}
	m.Samples, m.Methods, m.Postgres = nil, nil, nil
	return s, m
}

func invalid() (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	for i := range s.Rows {
		if s.Rows[i].Backend == "pull:scan=app" {
			s.Rows[i].Valid = false
			s.Rows[i].Warnings = []string{"the result was wrong in run 3"}
		}
	}
	return s, m
}

func interrupted() (*record.Summary, *record.Manifest) {
	s, m := only(func(r record.Row) bool { return r.Scenario == "fanout" && r.Size <= 50 })
	m.Interrupted = true
	return s, m
}

func zeros() (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	for i := range s.Rows {
		r := &s.Rows[i]
		r.NodesPerS, r.RowsReadPerNode, r.WALBytesPerNode = &record.Spread{}, ptr(0.0), ptr(0.0)
		r.HopNS, r.InstanceNS, r.Nodes = &record.Percentiles{}, &record.InstancePercentiles{}, 0
	}
	for i := range m.Samples {
		m.Samples[i].NodesPerS, m.Samples[i].Counters = 0, &record.Counters{RowsRead: ptr(int64(0))}
	}
	return s, m
}

// evil names try to break out of their context.
var evil = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</svg><script src="http://evil.example/x.js"></script>`,
	`</title></style><b>`, "line\nbreak\x1b[2J\x00", `{{.Title}}`, "fill:#0072B2", strings.Repeat("wide", 400),
}

func hostile() (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	rename := make(map[string]string)
	for i, b := range synthBackends {
		rename[b.name] = evil[i]
	}
	for i, sc := range synthScenarios {
		rename[sc.name] = evil[len(evil)-1-i]
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		r.Scenario, r.Backend = rename[r.Scenario], rename[r.Backend]
		r.Warnings = append(r.Warnings, evil...)
	}
	for i := range s.Claims {
		s.Claims[i].Name, s.Claims[i].Method, s.Claims[i].Unit = evil[1], evil[2], evil[3]
		if s.Claims[i].Series != "" {
			s.Claims[i].Series = evil[i/4]
		}
	}
	s.Notes, m.Warnings, m.Command, m.Scenarios, m.Backends, m.Samples = evil, evil, evil, evil, evil, nil
	m.Tool.Name, m.Host.CPU, m.Order, m.Postgres.Way = evil[0], evil[1], evil[2], evil[3]
	m.Postgres.Settings = []record.Setting{{Name: evil[0], Value: evil[2]}}
	m.Methods = []record.Method{{Figure: evil[0], Text: evil[2]}, {Figure: "hop_ns", Text: evil[1]}}
	m.Cases = []record.Case{{Scenario: evil[0], Program: evil[2], Source: evil[3], Input: []byte(`"</pre><script>"`)}}
	return s, m
}

func render(t *testing.T, s *record.Summary, m *record.Manifest) string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.WriteHTML(&b, s, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var pages = map[string]string{}

func pageOf(t *testing.T, name string) string {
	t.Helper()
	if _, ok := pages[name]; !ok {
		s, m := situations()[name]()
		pages[name] = render(t, s, m)
	}
	return pages[name]
}

func TestPageIsSound(t *testing.T) {
	for name, make := range situations() {
		t.Run(name, func(t *testing.T) {
			s, m := make()
			page := pageOf(t, name)
			p := parse(t, page)
			if p.count["script"] != 2 || p.count["style"] != 1 || p.count["img"] != 0 || p.count["b"] != 0 {
				t.Errorf("elements that do not belong: %v", p.count)
			}
			for _, link := range p.links {
				if id, ok := strings.CutPrefix(link, "#"); link != "data:," && (!ok || !p.ids[id]) {
					t.Errorf("a link leads nowhere or out of the page: %q", link)
				}
			}
			rows := 0
			if s != nil {
				rows = len(s.Rows)
				for _, r := range s.Rows {
					if want := strings.Join(strings.Fields(controls.ReplaceAllString(r.Scenario, "")), " "); !strings.Contains(p.text, want) {
						t.Errorf("scenario %q is not on the page", r.Scenario)
					}
				}
			}
			if got := p.tableRows["All rows"]; got != rows {
				t.Errorf("table has %d rows, want %d", got, rows)
			}
			if name == "full" && render(t, s, m) != page {
				t.Error("rendered twice, the page differs")
			}
		})
	}
}

type parsed struct {
	count     map[string]int
	ids       map[string]bool
	links     []string
	text      string
	tableRows map[string]int
}

var controls = regexp.MustCompile("[\x00\x1b\uFFFD]")

var rawText = regexp.MustCompile(`(?s)<(script|style)( type="application/json" id="chart-data")?>.*?</(script|style)>`)

// The page is also strict XML. parse checks style and script, and omits them.
func parse(t *testing.T, page string) parsed {
	t.Helper()
	for _, raw := range rawText.FindAllString(page, -1) {
		raw = strings.ReplaceAll(raw, `"http://www.w3.org/2000/svg"`, "") // the name of SVG, not an address
		if strings.Contains(raw, "chart-data") {
			continue // texts of the record, escaped
		}
		for _, out := range []string{"//evil", "http:", "https:", "url(", "@import", "fetch(", "ZgotmplZ"} {
			if strings.Contains(raw, out) {
				t.Errorf("style or script holds %q", out)
			}
		}
	}
	stripped := rawText.ReplaceAllString(page, "<$1></$3>")
	// Browsers accept a control character, only this parser refuses it.
	stripped = controls.ReplaceAllString(stripped, "")
	d := xml.NewDecoder(strings.NewReader(stripped))
	d.Entity = xml.HTMLEntity
	p := parsed{count: map[string]int{}, ids: map[string]bool{}, tableRows: map[string]int{}}
	var text strings.Builder
	var region string
	inBody := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := strings.ToLower(e.Name.Local)
			p.count[name]++
			inBody = inBody || name == "tbody"
			for _, a := range e.Attr {
				p.attribute(t, name, a, &region)
			}
			if name == "tr" && inBody {
				p.tableRows[region]++
			}
		case xml.EndElement:
			inBody = inBody && e.Name.Local != "tbody"
		case xml.CharData:
			text.Write(e)
		}
	}
	p.text = strings.Join(strings.Fields(text.String()), " ")
	return p
}

func (p *parsed) attribute(t *testing.T, element string, a xml.Attr, region *string) {
	switch name := strings.ToLower(a.Name.Local); {
	case name == "id":
		if p.ids[a.Value] {
			t.Errorf("id %q stands twice", a.Value)
		}
		p.ids[a.Value] = true
	case name == "href" || name == "src" || name == "action" || name == "data":
		p.links = append(p.links, a.Value)
	case strings.HasPrefix(name, "on"):
		t.Errorf("<%s> has %s", element, name)
	case name == "aria-label" && element == "div":
		*region = a.Value
	}
}

func TestPageSays(t *testing.T) {
	cases := map[string]struct{ has, hasNot []string }{
		"full": {[]string{
			"push is fastest on all 4 scenarios", "All 55 rows are valid", "15.18, durable", "from pg_stat_user_tables", "ABBA",
			"client and server shared two cores", "memory has no database", "shared_buffers", "256MB", "Scenario by scenario",
			"revision 0123456789a… with changes", "Payloads are 64 bytes.", "3m20s", "push grows with exponent", "not measured: no valid run",
		}, []string{"interrupted", "No method was recorded"}},
		"empty":       {[]string{"Nothing was measured.", "There are no rows."}, []string{"<figure", "Every run in its order", "All rows"}},
		"no manifest": {[]string{"there was no manifest", "No method was recorded", "push is fastest"}, []string{"Settings of the server"}},
		"one size":    {[]string{"push is fastest on both scenarios", "hop latency"}, []string{"Cost against workflow size"}},
		"one backend": {[]string{"nothing stands next to it", "grows with exponent"}, []string{"Multiples of", `class="heat"`}},
		"nulls":       {[]string{"nothing could be measured", "No method was recorded"}, []string{"Cost against", "Hop latency by", "Multiples of"}},
		"invalid": {[]string{"11 of 55 rows: invalid, and left out of charts and ratios.", "the result was wrong in run 3", `class="doubtful"`},
			[]string{"pull:scan=app grows"}},
		"interrupted": {[]string{"The run was interrupted", "some repetitions are missing", `class="state unclear"`}, []string{`class="state good"`}},
		"zeros":       {[]string{"p99.9 of a hop"}, []string{">NaN", "NaN×", "+Inf", ">Inf"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			page := pageOf(t, name)
			for _, want := range c.has {
				if !strings.Contains(page, want) {
					t.Errorf("page lacks %q", want)
				}
			}
			for _, not := range c.hasNot {
				if strings.Contains(page, not) {
					t.Errorf("page holds %q", not)
				}
			}
		})
	}
}

func TestAnswersAreShort(t *testing.T) {
	for name, make := range situations() {
		s, m := make()
		answer := reports.Compare(s, m).Answer
		if n := len(strings.Fields(answer)); n == 0 || n > 20 {
			t.Errorf("%s: %d words: %q", name, n, answer)
		}
	}
}

// The fastest is called so only where the record's own decision, or else the intervals, show it.
func TestAnswerFollowsTheRecord(t *testing.T) {
	s, m := differences()
	for i := range s.Differences {
		s.Differences[i].Decision = record.Unclear
	}
	if got, want := reports.Compare(s, m).Answer, "On chain 10, no backend is shown to be the fastest."; got != want {
		t.Errorf("undecided: %q, want %q", got, want)
	}
	for i := range s.Differences {
		s.Differences[i].Decision = record.Worse
	}
	if got, want := reports.Compare(s, m).Answer, "push is fastest on chain 10: 2.03× the rate of pull:scan=sql."; got != want {
		t.Errorf("decided: %q, want %q", got, want)
	}
}

// Three runs show nothing, however far their intervals are apart: between any two backends, not only with the record's baseline.
func TestFewRunsShowNothing(t *testing.T) {
	s, m := only(func(r record.Row) bool {
		return r.Scenario == "fanout" && r.Size == 100 && r.Backend != "memory" && r.Backend != "push"
	})
	if got := reports.Compare(s, m).Answer; !strings.Contains(got, "is fastest on fanout 100") {
		t.Fatalf("six runs: %q", got)
	}
	m.Samples = slices.DeleteFunc(m.Samples, func(s record.Sample) bool { return s.Run > 3 })
	if got, want := reports.Compare(s, m).Answer, "On fanout 100, no backend is shown to be the fastest."; got != want {
		t.Errorf("three runs: %q, want %q", got, want)
	}
}

// A crossing is found between two sizes, and drawn where the interpolated costs are equal.
func TestCrossing(t *testing.T) {
	s, m := only(func(r record.Row) bool {
		return r.Scenario == "fanout" && (r.Backend == "push" || r.Backend == "pull:scan=sql")
	})
	for i := range s.Rows {
		r := &s.Rows[i]
		rate := 1000.0
		if r.Backend != "push" {
			rate = 100000 / float64(r.Nodes) // equal at 100 nodes
		}
		r.NodesPerS = &record.Spread{Median: rate, Lo: rate * 0.99, Hi: rate * 1.01}
	}
	m.Samples = nil // which have other rates
	p := reports.Compare(s, m)
	var said []string
	for _, b := range p.First {
		for _, item := range b.List {
			said = append(said, item.Text)
		}
	}
	if len(said) != 1 || said[0] != "fanout: pull:scan=sql is faster up to 50, push from 500 on." {
		t.Errorf("crossings: %q", said)
	}
	for _, c := range p.Charts() {
		if c.Name == "fanout-nodes_per_s" {
			if len(c.Rules) != 1 || math.Abs(c.Rules[0].At-100) > 0.01 {
				t.Errorf("the crossing is drawn at %v", c.Rules)
			}
			return
		}
	}
	t.Error("no chart of the cost against size")
}

// Figures measured without durability must be marked.
func TestNotDurableIsSeen(t *testing.T) {
	s, m := synthetic()
	m.Postgres.Settings[0].Value = "off"
	if page := render(t, s, m); !strings.Contains(page, "NOT DURABLE (fsync off, synchronous_commit on)") {
		t.Error("the page does not say so")
	}
}

func TestText(t *testing.T) {
	for name, make := range situations() {
		t.Run(name, func(t *testing.T) {
			s, m := make()
			var b bytes.Buffer
			if err := reports.WriteText(&b, s, m); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(b.String(), "\x00\x1b") {
				t.Error("a name reached the terminal's controls")
			}
			if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Errorf("not a number:\n%s", b.String())
			}
			switch name {
			case "full", "empty", "invalid", "interrupted", "one backend", "differences":
				golden(t, strings.ReplaceAll(name, " ", "_")+".txt", b.String())
			}
		})
	}
}

// Every text must lie within its drawing.
func TestCharts(t *testing.T) {
	for name, make := range situations() {
		t.Run(name, func(t *testing.T) {
			s, m := make()
			seen := map[string]bool{}
			for _, c := range reports.Charts(s, m) {
				if seen[c.Name] || len(c.Name) > 120 || strings.ContainsAny(c.Name, "/\\ <\"") {
					t.Errorf("name %q stands twice or is unfit for a file", c.Name)
				}
				seen[c.Name] = true
				var svg bytes.Buffer
				if err := c.Write(&svg, "svg"); err != nil {
					t.Fatal(err)
				}
				if err := xml.Unmarshal(svg.Bytes(), new(struct{})); err != nil {
					t.Errorf("%s: not well-formed: %v", c.Name, err)
				}
				for _, l := range labels(t, svg.Bytes()) {
					if l.x < -0.5 || l.x+l.width > l.canvas+0.5 || l.y > 0 {
						t.Errorf("%s: %q from %.1f to %.1f of %.1f at height %.1f", c.Name, l.text, l.x, l.x+l.width, l.canvas, -l.y)
					}
				}
			}
			if name == "full" && len(seen) != 18 {
				t.Errorf("%d charts, want 18", len(seen))
			}
		})
	}
}

func TestPicture(t *testing.T) {
	s, m := only(func(r record.Row) bool { return r.Scenario == "chain" })
	c := reports.Charts(s, m)[0]
	var picture bytes.Buffer
	if err := c.Write(&picture, "png"); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&picture)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X < 900 || size.Y < 300 {
		t.Errorf("size %v", size)
	}
	if err := c.Write(io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), "use svg or png") {
		t.Errorf("gif: %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWritersReportErrors(t *testing.T) {
	s, m := synthetic()
	for name, err := range map[string]error{
		"HTML": reports.WriteHTML(broken{}, s, m), "text": reports.WriteText(broken{}, s, m),
		"chart": reports.Charts(s, m)[0].Write(broken{}, "svg"),
	} {
		if err == nil || !strings.HasSuffix(err.Error(), "no space left on device") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLargeReport(t *testing.T) {
	s, m := synthetic()
	for i := range depth.Of(4_000, 40_000) {
		m.Samples = append(m.Samples, record.Sample{Scenario: "fanout", Backend: "push", Size: 10, Run: i + 7, Order: i, Nodes: 12, Valid: true})
	}
	page := render(t, s, m)
	if len(page) > 8<<20 || !strings.Contains(page, fmt.Sprintf("The first 1500 of %d runs", len(m.Samples))) {
		t.Errorf("%d bytes", len(page))
	}
}

type label struct {
	text                string
	x, y, width, canvas float64
}

var fontSize = regexp.MustCompile(`font-size:([0-9.]+)px`)

// labels omits rotated texts. A width is at least a third of the font size per character, which every ordinary word exceeds.
func labels(t *testing.T, svg []byte) []label {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var out []label
	var canvas float64
	turned := 0
	var open *label
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			get := func(name string) string {
				for _, a := range e.Attr {
					if a.Name.Local == name {
						return a.Value
					}
				}
				return ""
			}
			switch e.Name.Local {
			case "svg":
				_, _ = fmt.Sscanf(get("viewBox"), "0 0 %g", &canvas)
			case "g":
				if turned > 0 || strings.Contains(get("transform"), "rotate") {
					turned++
				}
			case "text":
				if turned == 0 {
					open = &label{canvas: canvas}
					_, _ = fmt.Sscanf(get("x"), "%g", &open.x)
					_, _ = fmt.Sscanf(get("y"), "%g", &open.y)
					_, _ = fmt.Sscanf(fontSize.FindStringSubmatch(get("style"))[1], "%g", &open.width)
				}
			}
		case xml.CharData:
			if open != nil {
				open.text += string(e)
			}
		case xml.EndElement:
			if e.Name.Local == "g" && turned > 0 {
				turned--
			}
			if e.Name.Local == "text" && open != nil {
				open.width *= math.Max(1, float64(len([]rune(open.text)))) / 3
				out = append(out, *open)
				open = nil
			}
		}
	}
}
