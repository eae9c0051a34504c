package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/reports/page"
)

// forecastRecord writes a record for which nothing need run.
func forecastRecord(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "forecast")
	if got := call(t, nil, "forecast", "fanout=20", "--workers", "4", "--service", "exp:10ms", "--out", dir); got.code != 0 || !strings.Contains(got.err, "report: "+filepath.Join(dir, "report.html")) {
		t.Fatalf("%d: %s", got.code, got.err)
	}
	return dir
}

func TestReportOfOneAndOfSeveral(t *testing.T) {
	dir := forecastRecord(t)
	out, charts := filepath.Join(t.TempDir(), "all.html"), filepath.Join(t.TempDir(), "charts")
	got := call(t, nil, "report", dir, dir, "--out", out, "--charts", charts)
	html, err := os.ReadFile(out)
	if got.code != 0 || err != nil || !bytes.Contains(html, []byte("2 records on one page")) || !bytes.Contains(html, []byte(`id="part-2-figures"`)) {
		t.Errorf("%d, %v: %s", got.code, err, got.err)
	}
	for _, name := range []string{"1-makespan.svg", "1-makespan.png", "2-times.svg"} {
		if info, err := os.Stat(filepath.Join(charts, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := call(t, nil, "report", dir, "--format", "text"); got.code != 0 || !strings.HasPrefix(got.out, "fanout=20 on 4 workers takes") || !strings.Contains(got.out, "a") {
		t.Errorf("%d: %s", got.code, got.out)
	}
	file := filepath.Join(t.TempDir(), "r.md")
	if got := call(t, nil, "report", dir, "--format", "markdown", "--out", file); got.code != 0 || got.out != "" {
		t.Errorf("%d: %s", got.code, got.out)
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(text, []byte("# fanout=20 on 4 workers")) || !bytes.Contains(text, []byte("| :-- | --: | :-- |")) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestReportGivesTheRecordBack(t *testing.T) {
	dir := forecastRecord(t)
	again := filepath.Join(t.TempDir(), "again")
	file := filepath.Join(dir, "report.html")
	if got := call(t, nil, "report", "--extract", again, file); got.code != 0 {
		t.Fatalf("%d: %s", got.code, got.err)
	}
	for _, name := range []string{"forecast.json", "schedule.csv", "gantt.svg"} {
		want, _ := os.ReadFile(filepath.Join(dir, name))
		if got, err := os.ReadFile(filepath.Join(again, name)); err != nil || !bytes.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s is another, or %v", name, err)
		}
	}
	got := call(t, nil, "report", "--extract", again, file)
	if got.code != console.ExitUsage || !strings.Contains(got.err, "there is a forecast.json already") {
		t.Errorf("%d: %s", got.code, got.err)
	}
	// A folder of the page that leads elsewhere is not followed.
	joined, elsewhere := filepath.Join(t.TempDir(), "all.html"), t.TempDir()
	folder := t.TempDir()
	if got := call(t, nil, "report", dir, dir, "--out", joined); got.code != 0 {
		t.Fatal(got.err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(folder, "2")); err != nil {
		t.Skip(err)
	}
	if got := call(t, nil, "report", "--extract", folder, joined); got.code != console.ExitUsage {
		t.Errorf("%d: %s", got.code, got.err)
	}
	for _, d := range []string{elsewhere, filepath.Join(folder, "1")} {
		if entries, _ := os.ReadDir(d); len(entries) > 0 {
			t.Errorf("%s has %d files", d, len(entries))
		}
	}
}

func TestReportMistakes(t *testing.T) {
	dir, none := forecastRecord(t), t.TempDir()
	file := filepath.Join(dir, "report.html")
	other := filepath.Join(none, "other.html")
	if err := os.WriteFile(other, []byte("<html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"add --out report.html", []string{dir}},
		{"holds no record", []string{filepath.Join(none), "--out", other + ".new"}},
		{"is no folder", []string{file, "--format", "text"}},
		{"side by side are two records of comparisons", []string{dir, "--baseline", dir, "--format", "text"}},
		{"takes the record out of one page", []string{"--extract", none, file, file}},
		{"leave out --out", []string{"--extract", none, file, "--out", "x"}},
		{"carries no record", []string{"--extract", none, other}},
		{"name the page", []string{"--extract", none, filepath.Join(none, "none.html")}},
		{"expected", []string{"--format", "text"}},
	} {
		got := call(t, nil, append([]string{"report"}, c.args...)...)
		if got.code != console.ExitUsage || !strings.Contains(got.err, c.want) || strings.Count(got.err, "\n") != 1 || got.out != "" {
			t.Errorf("%q: %d, %q, %q; want %q", c.args, got.code, got.err, got.out, c.want)
		}
	}
	if _, err := os.Stat(other + ".new"); err == nil {
		t.Error("a page is there after a mistake")
	}
}

// Nothing is left of a page that could not be written.
func TestReportWritesWholePages(t *testing.T) {
	dir := forecastRecord(t)
	folder := t.TempDir()
	if got := call(t, nil, "report", dir, "--out", folder); got.code != console.ExitUsage || !strings.Contains(got.err, "is a directory") {
		t.Errorf("%d: %s", got.code, got.err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) > 0 {
		t.Errorf("%d files are left", len(entries))
	}
}

// reported: the page beside a record carries these files, byte for byte, and says what repeats it.
func reported(t *testing.T, dir string, names ...string) {
	t.Helper()
	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Error(err)
		return
	}
	files, err := page.Extract(html)
	if err != nil {
		t.Error(err)
	}
	carried := map[string][]byte{}
	for _, f := range files {
		carried[f.Name] = f.Data
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if got, has := carried[name]; err != nil || !has || !bytes.Equal(got, want) {
			t.Errorf("the page carries another %s, or none: %v", name, err)
		}
	}
	if !bytes.Contains(html, []byte(`<details id="repeat">`)) {
		t.Error("the page does not say what repeats it")
	}
}
