package adapters

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/peers/peer"
	"pulley/bench/peers/race"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// tiny is every shape and load, at a size that even the slowest system ends soon.
func tiny() []peer.Workload {
	return []peer.Workload{
		{Name: "independent", Shape: peer.Chain, Load: peer.Closed, Steps: 1},
		{Name: "backlog", Shape: peer.Chain, Load: peer.Backlog, Steps: 1},
		{Name: "chain", Shape: peer.Chain, Load: peer.Closed, Steps: 3},
		{Name: "fanout", Shape: peer.Fanout, Load: peer.Closed, Width: 4},
		{Name: "loop", Shape: peer.Loop, Load: peer.Closed, Rounds: 2, Steps: 2},
		{Name: "latency", Shape: peer.Chain, Load: peer.Single, Steps: 1},
	}
}

// TestContract runs every system, and each of our designs, on every workload. All instances must end correctly with every task
// run, costs must be counted, and nothing may remain.
func TestContract(t *testing.T) {
	texts := []string{"push", "push:batch=1", "eager", "pull"}
	for _, a := range OtherSystems() {
		texts = append(texts, a.Name)
	}
	for _, text := range texts {
		t.Run(text, func(t *testing.T) {
			entries, err := Parse([]string{text})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			record, err := race.Run(ctx, race.Config{
				Entries: entries, Workloads: tiny(), Runs: 1, InFlight: 8, RunFor: 10 * time.Millisecond, Timeout: time.Minute,
				DSN: pgtest.DSN(t), Progress: func(line string) { t.Log(line) },
			})
			if err != nil {
				t.Fatal(err)
			}
			checkRecord(t, record, entries[0])
			noDatabases(t)
		})
	}
}

func checkRecord(t *testing.T, record *race.Record, e peer.Entry) {
	t.Helper()
	want := 0
	for _, w := range tiny() {
		if ok, why := e.Runs(w); !ok {
			if why == "" || record.Systems[0].NotRun[w.Name] != why {
				t.Errorf("%s is not run, and the record does not say why (%q)", w.Name, why)
			}
			continue
		}
		want++
	}
	if record.Interrupted || len(record.Samples) != want {
		t.Fatalf("%d samples (interrupted: %v), want %d", len(record.Samples), record.Interrupted, want)
	}
	for _, s := range record.Samples {
		switch {
		case !s.Valid:
			t.Errorf("%s: %s", s.Workload, strings.Join(s.Warnings, "; "))
		case s.TasksPerS <= 0 || s.LatencyNS == nil || s.LatencyNS.P50 <= 0:
			t.Errorf("%s: no rate or no latency: %+v", s.Workload, s)
		case e.Adapter.Databases > 0 && (s.Commits == nil || *s.Commits <= 0 || *s.WALBytesPerTask <= 0):
			t.Errorf("%s: its cost was not counted: %s", s.Workload, strings.Join(s.Warnings, "; "))
		}
	}
	if !slices.ContainsFunc(record.Systems[0].Versions, func(m race.Module) bool { return m.Path != "" && m.Version != "" }) {
		t.Errorf("no version: %+v", record.Systems[0])
	}
}

func noDatabases(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var left int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'pulley\\_peers\\_%'").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d databases of the race are left (%v)", left, err)
	}
}

// TestParse checks that an unknown name is refused with a list of the known ones.
func TestParse(t *testing.T) {
	for texts, want := range map[string]string{
		"nats":                 "river",
		"push,push":            "twice",
		"memory":               "keeps nothing",
		"push:batch=x":         "number",
		"river:speed=9":        "connections",
		"river:workers=0":      "1 to 100000",
		"river:notify=perhaps": "on or off",
	} {
		if _, err := Parse(strings.Split(texts, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s): %v, want it to say %q", texts, err, want)
		}
	}
	entries, err := Parse([]string{"push:batch=1", "river:connections=3"})
	if err != nil {
		t.Fatal(err)
	}
	w := peer.Workload{Name: "chain", Shape: peer.Chain, Load: peer.Closed, Steps: 3}
	if got := entries[1].OptionsFor(w); got["connections"] != "3" || got["workers"] == "" {
		t.Errorf("options of %s: %v", entries[1].Text, got)
	}
	if entries[0].Text != "push:batch=1" {
		t.Errorf("the name is %q", entries[0].Text)
	}
}
