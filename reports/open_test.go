package reports_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/bench/gate"
	"pulley/bench/history"
	"pulley/reports"
	"pulley/reports/page"
	"pulley/reports/record"
)

// put writes files into a new folder: texts as they are, other values as JSON.
func put(t *testing.T, files map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range files {
		text, is := value.(string)
		if !is {
			data, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func schemed(t *testing.T, r *record.CeilingReport) string {
	t.Helper()
	var b bytes.Buffer
	if err := record.EncodeCeilings(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOpenFindsTheKind(t *testing.T) {
	s, m := situations()["full"]()
	compared := t.TempDir()
	for _, err := range []error{record.WriteSummary(compared, s), record.WriteManifest(compared, m), record.WriteSamples(compared, m.Samples)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	kase := map[string]any{"backend": "push", "seed": 4, "why": "I3"}
	violated := record.Sim{Schema: record.SchemaVersion, Searches: []record.SimSearch{{Backend: "push", Violation: &record.SimViolation{Seed: 4}}}}
	for name, c := range map[string]struct {
		kind, dir string
		files     int
		says      string
	}{
		"compare":       {"compare", compared, 3, "push is fastest"},
		"gate":          {"gate", put(t, map[string]any{"gate.json": gate.Report{Outcome: gate.Passed, Lines: []gate.Line{}}, "gate.txt": "text"}), 2, "No figure of 0"},
		"self-test":     {"gate", put(t, map[string]any{"gate.json": selfTest(), "gate.txt": "text"}), 2, "68 of 80 tries with something planted were found; 2 false alarms in 100 comparisons of the same."},
		"ceiling":       {"ceiling", put(t, map[string]any{"ceiling.json": schemed(t, ceilingReport())}), 1, "Raw SQL makes 260,000 completions durable a second, by copy."},
		"claims":        {"claims", put(t, map[string]any{"claims.json": claimsReport(), "claims.txt": "text"}), 2, "Of 5 claims, 1 holds, 1 does not hold, 1 depends, 1 has only our figures and 1 is not measured."},
		"chaos":         {"chaos", put(t, map[string]any{"chaos.json": record.Chaos{Schema: record.SchemaVersion, Verdict: "pass", Backend: "push"}, "result.json": "{}", "case.json": kase, "history.ndjson": "{}"}), 3, "push lost nothing"},
		"earlier chaos": {"chaos", put(t, map[string]any{"result.json": map[string]any{"verdict": "fail", "backend": "eager", "missed": map[string]int{}, "violations": []map[string]string{{"invariant": "I8", "message": "lost"}}}, "case.json": kase}), 2, "eager broke its promise"},
		"sim":           {"sim", put(t, map[string]any{"sim.json": violated, "case.json": kase, "case.svg": "<svg/>", "case.txt": "1 step", "coverage.txt": "met"}), 5, "push violates an invariant in seed 4"},
		"sim, no more":  {"sim", put(t, map[string]any{"sim.json": record.Sim{Schema: record.SchemaVersion}, "case.json": kase, "coverage.txt": "met"}), 2, "No invariant is violated"},
		"earlier sim":   {"sim", put(t, map[string]any{"case.json": kase, "coverage.txt": "met"}), 2, "push violates an invariant in seed 4"},
		"forecast":      {"forecast", put(t, map[string]any{"forecast.json": record.Forecast{Scenario: "chain", Workers: 2}, "gantt.svg": "<svg/>"}), 2, "chain on 2 workers takes"},
		"night":         {"night", put(t, map[string]any{"totals.json": record.Night{Verdict: "pass", Parts: []*record.NightPart{}}}), 1, "The night passed"},
		"history":       {"history", put(t, map[string]any{"history.json": history.Report{Schema: history.Schema, Series: []history.Finding{}}}), 1, "0 of 0 figures changed"},
		"a history":     {"history", put(t, map[string]any{"history.ndjson": "", "history.json": "stale"}), 1, "0 of 0 figures changed"},
	} {
		p, err := reports.Open(c.dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Kind != c.kind || len(p.Record) != c.files || !strings.Contains(p.Answer, c.says) {
			t.Errorf("%s: %s with %d files: %s", name, p.Kind, len(p.Record), p.Answer)
		}
		carries(t, name, p, c.dir)
	}
}

// carries: the page gives every file back, byte for byte.
func carries(t *testing.T, name string, p *page.Page, dir string) {
	t.Helper()
	var html bytes.Buffer
	if err := p.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	files, err := page.Extract(html.Bytes())
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, f := range files {
		if want, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil || !bytes.Equal(want, f.Data) {
			t.Errorf("%s: %s is another, or %v", name, f.Name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for want, dir := range map[string]string{
		"holds no record":                 t.TempDir(),
		"no such file":                    filepath.Join(t.TempDir(), "none"),
		"it has no outcome":               put(t, map[string]any{"gate.json": map[string]any{"tries": 3}}),
		"gate --self-test writes":         put(t, map[string]any{"gate.json": map[string]any{"results": 3}}),
		"it has no claims":                put(t, map[string]any{"claims.json": "{}"}),
		"ceilings has none":               put(t, map[string]any{"ceiling.json": map[string]any{"schema": record.SchemaVersion}}),
		"is not what pulley writes":       put(t, map[string]any{"forecast.json": "{"}),
		"it is no forecast":               put(t, map[string]any{"forecast.json": "{}"}),
		"no verdict or no parts":          put(t, map[string]any{"totals.json": "{}"}),
		"no verdict on a backend":         put(t, map[string]any{"result.json": "{}"}),
		"it names no backend":             put(t, map[string]any{"coverage.txt": "", "case.json": "{}"}),
		"has no schema":                   put(t, map[string]any{"sim.json": "{}"}),
		"there is no run in it, line 1":   put(t, map[string]any{"history.ndjson": "x\n"}),
		"it is no report":                 put(t, map[string]any{"history.json": "{}"}),
		"side by side are two records of": "",
	} {
		_, err := reports.Open(dir)
		if dir == "" {
			_, err = reports.Beside(t.TempDir(), t.TempDir())
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestWriteNeedsItsRecord(t *testing.T) {
	dir := put(t, map[string]any{"forecast.json": record.Forecast{Scenario: "chain", Workers: 2}})
	path, err := reports.Write("forecast", dir)
	if info, failed := os.Stat(path); err != nil || failed != nil || info.Size() == 0 {
		t.Errorf("%s: %v, %v", path, err, failed)
	}
	if _, err := reports.Write("sim", t.TempDir()); err == nil {
		t.Error("a page of nothing")
	}
	if _, err := reports.Write("nothing", dir); err == nil {
		t.Error("a page of an unknown kind")
	}
}
