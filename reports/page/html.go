package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"pulley/reports/chart"
)

//go:embed page.html.tmpl style.css *.js
var files embed.FS

var pageTemplate = template.Must(template.New("page.html.tmpl").Funcs(template.FuncMap{
	"inline": inline, "shade": shade,
	"number": func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) },
}).ParseFS(files, "page.html.tmpl"))

// styleSheet is the whole style of a page, script its whole script.
var styleSheet, script = mustStyle(), mustScript("figures.js", "pointing.js", "chart.js", "script.js")

// mustScript puts the parts into one function, so that nothing of them is global.
func mustScript(names ...string) string {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range names {
		b.WriteString(mustRead(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

func mustRead(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(data)
}

func mustStyle() string {
	light, dark := chart.Variables(false), chart.Variables(true)
	return ":root{" + light + "}\n@media (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark + "}}\n:root[data-theme=dark]{" + dark + "}\n@media print{:root:root:root{" + light + "}}\n" +
		chart.Classes() + shades() + mustRead("style.css")
}

// shadeSteps is how many shades a heat table distinguishes; they are classes, since a page has no styles in attributes.
const shadeSteps = 20

func shades() string {
	var b bytes.Buffer
	for i := range shadeSteps + 1 {
		fmt.Fprintf(&b, ".heat tbody td.shade-%d{background:color-mix(in srgb,var(--heat) %d%%,var(--card))}\n", i, i*50/shadeSteps)
	}
	return b.String()
}

func shade(v float64) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(math.Round(min(max(v, 0), 1) * shadeSteps))
}

// Policy is the content security policy of every page.
func Policy() string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hashOf(styleSheet), hashOf(script))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

type htmlPage struct {
	*Page
	Title  string
	Policy string
	Style  template.CSS
	Script template.JS
	Data   template.JS
	Files  []embedded
	Above  []Link
}

// WriteHTML writes the page as one file. It writes nothing if it fails.
func (p *Page) WriteHTML(w io.Writer) error { return p.WriteServed(w, nil) }

// WriteServed is WriteHTML for a page with addresses on its server above its first line.
func (p *Page) WriteServed(w io.Writer, above []Link) error {
	view := htmlPage{Page: p, Above: above, Title: "pulley " + p.Kind, Policy: Policy(), Style: template.CSS(styleSheet), Script: template.JS(script)}
	var err error
	if view.Data, err = p.data(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if view.Files, err = embed64(p.Record); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	var buf bytes.Buffer // a failing template must not leave half a page
	if err := pageTemplate.Execute(&buf, view); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if _, err := buf.WriteTo(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// data is the charts, by their places on the page.
func (p *Page) data() (template.JS, error) {
	all := []chart.Data{}
	for _, c := range p.Charts() {
		all = append(all, c.Data())
	}
	text, err := json.Marshal(all) // escapes what could end a script element
	return template.JS(text), err
}

// Charts returns all charts of the page, in order.
func (p *Page) Charts() []*chart.Plot {
	var out []*chart.Plot
	for _, b := range p.First {
		out = append(out, b.Charts...)
	}
	for _, s := range p.Sections {
		for _, b := range s.Blocks {
			out = append(out, b.Charts...)
		}
	}
	return out
}

type inlineChart struct {
	*chart.Plot
	Wide, Narrow template.HTML
	Legend       []legendEntry
	// Caption is beneath the title. Words are folded: what the chart says at length, and how it was measured.
	Caption string
	Words   []string
}

// captionMost is what a caption holds without taking the eye from the chart, in runes.
const captionMost = 110

type legendEntry struct {
	Name string
	SVG  template.HTML
}

// inline draws a chart. The drawing escapes all texts.
func inline(p *chart.Plot) inlineChart {
	drawn := p.Inline()
	out := inlineChart{Plot: p, Wide: template.HTML(drawn.Wide), Narrow: template.HTML(drawn.Narrow)}
	switch {
	case p.Hint == "" && utf8.RuneCountInString(p.Says) <= captionMost:
		out.Caption = p.Says
	case p.Says != "":
		out.Words = append(out.Words, p.Says)
	}
	if p.Hint != "" {
		out.Caption = p.Hint
	}
	if p.Method != "" {
		out.Words = append(out.Words, p.Method)
	}
	for _, e := range drawn.Legend {
		out.Legend = append(out.Legend, legendEntry{e.Name, template.HTML(e.SVG)})
	}
	return out
}

// Markup is the element for the page. Package chart escapes all texts in it.
func (d *Drawing) Markup() template.HTML { return template.HTML(d.Inline) }

// DataURI returns the drawing as an image's address. In an image, no script runs and nothing is loaded.
func (d *Drawing) DataURI() template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(d.SVG))
}
