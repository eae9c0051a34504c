package race

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/bench/peers/peer"
	"pulley/reports/record"
)

func made(rates map[string][]float64) *Record {
	r := &Record{
		Runs: 3, InFlight: 1000, RunForNS: int64(time.Second), Order: "ABBA", PayloadBytes: peer.PayloadBytes, Postgres: &record.Postgres{Version: "PostgreSQL 15.1 on x"},
		Workloads: []peer.Workload{{Name: "chain", Shape: peer.Chain, Load: peer.Closed, Steps: 10}},
	}
	for _, name := range []string{"push", "river", "river-tx", "temporal"} {
		if rates[name] == nil {
			continue
		}
		r.Systems = append(r.Systems, System{Name: name, Title: name, Ours: name == "push", Store: "Postgres", Notes: map[string]string{"": "a note"}})
		for i, rate := range rates[name] {
			commits := 0.5
			r.Samples = append(r.Samples, Sample{System: name, Workload: "chain", Run: i + 1, TasksPerS: rate, Valid: rate > 0, InFlight: 1000,
				Warnings: []string{"why"}, CommitsPerTask: &commits, WALBytesPerTask: &commits, LatencyNS: &record.Percentiles{P50: 1e6, P99: 2e6}})
		}
	}
	r.finish()
	return r
}

// TestRatios checks that runs are paired by number, that another system counts with its best row in each, that invalid runs do
// not count, and that an unmeasured target is not met.
func TestRatios(t *testing.T) {
	find := func(r *Record, name string) *Ratio {
		for i := range r.Ratios {
			if r.Ratios[i].Name == name {
				return &r.Ratios[i]
			}
		}
		return nil
	}
	r := made(map[string][]float64{"push": {3000, 6000, 100}, "river": {100, 50, 0}, "river-tx": {50, 200, 0}, "temporal": {10, 10, 10}})
	got := find(r, "push / river, chain")
	if got == nil || got.Pairs != 2 || math.Abs(*got.Value-30) > 1e-9 || !*got.Met || *got.Target != 25 {
		t.Fatalf("push / river: %+v, want 30 of 2 pairs, met", got)
	}
	if got := find(r, "push / temporal, chain"); got == nil || got.Pairs != 3 || math.Abs(*got.Value-300) > 1e-9 || got.Target != nil || math.Abs(*got.Least-10) > 1e-9 || math.Abs(*got.Most-600) > 1e-9 {
		t.Errorf("push / temporal: %+v, want 300 of 3 pairs from 10 to 600", got)
	}
	r = made(map[string][]float64{"push": {2400}, "river": {100}})
	if got := find(r, "push / river, chain"); got == nil || *got.Met {
		t.Errorf("24 meets a target of 25: %+v", got)
	}
	r = made(map[string][]float64{"push": {2600}, "river": {0}})
	if got := find(r, "push / river, chain"); got == nil || got.Value != nil || got.Met != nil || got.Target == nil {
		t.Errorf("nothing was measured: %+v", got)
	}
	if r.Valid() {
		t.Error("a record with an invalid run is valid")
	}
}

// TestRows checks that a row is the median of the valid runs, and counts the others.
func TestRows(t *testing.T) {
	r := made(map[string][]float64{"push": {10, 0, 30}})
	if len(r.Rows) != 1 || r.Rows[0].Runs != 2 || r.Rows[0].Invalid != 1 || *r.Rows[0].TasksPerS != 20 || *r.Rows[0].TasksPerSLeast != 10 || *r.Rows[0].LatencyP99NS != 2e6 {
		t.Errorf("rows: %+v", r.Rows)
	}
}

// TestReadme checks that only the text between the markers is replaced, and that pages without markers are refused.
func TestReadme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	page := "# Head\n\n" + beginMarker + "\nold\n" + endMarker + "\n\ntail\n"
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(page)
	r := made(map[string][]float64{"push": {12345, 0}, "river": {100, 100}})
	var first string
	for range 2 {
		if err := r.WriteReadme(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if first != "" && first != string(got) {
			t.Error("writing the same again changes the page")
		}
		first = string(got)
	}
	for _, want := range []string{"# Head\n\n" + beginMarker, "12,345", "1, 1 INVALID", "INVALID: chain on push, run 2: why", "push / river, chain | 123 |", endMarker + "\n\ntail\n"} {
		if !strings.Contains(first, want) {
			t.Errorf("the page lacks %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, "old") {
		t.Error("what stood between the markers is still there")
	}
	for name, text := range map[string]string{
		"none": "# Head\n", "one": beginMarker, "turned round": endMarker + "\n" + beginMarker, "twice": page + page,
	} {
		write(text)
		if err := r.WriteReadme(path); err == nil {
			t.Errorf("markers %s: the page was written", name)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("markers %s: the page was changed", name)
		}
	}
}

// TestPlan checks that a fast system gets as many instances as a run lasts, and a slow one fewer at once, but never fewer than
// it was fastest with.
func TestPlan(t *testing.T) {
	c := Config{InFlight: 1000, RunFor: 2 * time.Second}
	chain := peer.Workload{Name: "chain", Shape: peer.Chain, Load: peer.Closed, Steps: 10}
	single := peer.Workload{Name: "latency", Shape: peer.Chain, Load: peer.Single, Steps: 1}
	backlog := peer.Workload{Name: "backlog", Shape: peer.Chain, Load: peer.Backlog, Steps: 1}
	for _, k := range []struct {
		w    peer.Workload
		p    pace
		want load
	}{
		{chain, pace{4000, 1000}, load{8000, 1000, 800}},
		{chain, pace{400, 64}, load{1000, 1000, 100}},
		{chain, pace{10, 16}, load{60, 60, 6}},
		{chain, pace{1, 64}, load{64, 64, 6}},
		{single, pace{500, 1}, load{1000, 1, 1}},
		{single, pace{4, 1}, load{10, 1, 1}},
		{backlog, pace{5000, 5000}, load{10000, 10000, 1000}},
		{backlog, pace{1e9, 5000}, load{backlogMost, backlogMost, backlogMost / 10}},
	} {
		if got := c.plan(k.w, k.p); got != k.want {
			t.Errorf("plan(%s, %+v) is %+v, want %+v", k.w.Name, k.p, got, k.want)
		}
	}
	for _, w := range []peer.Workload{chain, single, backlog} {
		rounds := c.rounds(w)
		for i, n := range rounds {
			if n < 1 || i > 0 && n <= rounds[i-1] || n*w.Tasks() > tasksMost {
				t.Errorf("rounds of %s: %v", w.Name, rounds)
			}
		}
	}
}

// TestWithin checks that only the database of a connection string changes.
func TestWithin(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://me:s%40cret@h:1/a?sslmode=disable":     "postgres://me:s%40cret@h:1/b?sslmode=disable",
		"postgres:///a?host=%2Ftmp%2Fx&dbname=z":           "postgres:///b?host=%2Ftmp%2Fx",
		"host=/tmp/x port=5 user=postgres dbname=postgres": "host=/tmp/x port=5 user=postgres dbname=postgres dbname=b",
	} {
		if got, err := within(dsn, "b"); err != nil || got != want {
			t.Errorf("within(%s) is %s, %v; want %s", dsn, got, err, want)
		}
	}
	if _, err := within("postgres://me:s3cret@h:port/a", "b"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a DSN that cannot be read: %v", err)
	}
}

func TestConfig(t *testing.T) {
	good := Config{Entries: make([]peer.Entry, 1), Workloads: peer.Workloads(), Runs: 1, DSN: "x"}
	if err := good.withDefaults().validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		"no system":      func(c *Config) { c.Entries = nil },
		"no workload":    func(c *Config) { c.Workloads = nil },
		"0 runs":         func(c *Config) { c.Runs = 0 },
		"in flight":      func(c *Config) { c.InFlight = -1 },
		"a timeout":      func(c *Config) { c.Timeout = time.Second },
		"no DSN":         func(c *Config) { c.DSN = "" },
		"workload bad":   func(c *Config) { c.Workloads = []peer.Workload{{Name: "bad", Shape: peer.Chain, Load: peer.Closed}} },
		"no load \"no\"": func(c *Config) { c.Workloads = []peer.Workload{{Name: "x", Shape: peer.Chain, Load: "no", Steps: 1}} },
	} {
		c := good
		change(&c)
		if err := c.withDefaults().validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}
