package reports_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/reports"
	"pulley/reports/page"
	"pulley/reports/record"
)

const goldenRecords = "testdata/records"

// Records are kept for years. Each kind has one of every schema version since it exists, and all of them still render. Who raises
// record.SchemaVersion adds one of each.
func TestRecordsOfEveryVersionRender(t *testing.T) {
	for kind, first := range map[string]int{"compare": 1, "bench": 5, "knee": 5} {
		for version := first; version <= record.SchemaVersion; version++ {
			name := fmt.Sprintf("%s-%d", kind, version)
			t.Run(name, func(t *testing.T) {
				dir := filepath.Join(goldenRecords, name)
				ofVersion(t, dir, version)
				p, err := reports.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				if p.Kind != kind || p.Answer == "" || len(p.Charts()) == 0 {
					t.Errorf("kind %q, answer %q, %d charts", p.Kind, p.Answer, len(p.Charts()))
				}
				renders(t, p)
			})
		}
	}
}

// ofVersion reports that all files are of one version.
func ofVersion(t *testing.T, dir string, version int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*json*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no record: add one of schema %d, as small as the others", dir, version)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if head := data[:min(len(data), 80)]; !bytes.Contains(data, []byte(fmt.Sprintf(`"schema": %d`, version))) {
			t.Errorf("%s is not of schema %d: %s", file, version, head)
		}
	}
}

func renders(t *testing.T, p *page.Page) {
	t.Helper()
	for format, write := range map[string]func(*bytes.Buffer) error{
		"HTML": func(b *bytes.Buffer) error { return p.WriteHTML(b) }, "text": func(b *bytes.Buffer) error { return p.WriteText(b) },
		"Markdown": func(b *bytes.Buffer) error { return p.WriteMarkdown(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if bad := notFigures(b.String()); !strings.Contains(b.String(), p.Answer) || bad != "" {
			t.Errorf("%s: it lacks %q, or has %q", format, p.Answer, bad)
		}
	}
	for _, c := range p.Charts() {
		if err := c.Write(&bytes.Buffer{}, "svg"); err != nil {
			t.Error(err)
		}
	}
}

// notFigures returns what a figure that is none was written as.
func notFigures(text string) string {
	for _, bad := range []string{" NaN", "+Inf ", "-Inf ", "%!("} {
		if i := strings.Index(text, bad); i >= 0 {
			return text[max(i-30, 0):min(i+30, len(text))]
		}
	}
	return ""
}
