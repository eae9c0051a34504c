package ceiling

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/internal/depth"
	"pulley/reports/record"
)

var designsOfWays = map[string]string{
	record.CeilingStatements: pushDesign, record.CeilingCall: pushDesign, record.CeilingBatched: pushDesign,
	record.CeilingAppend: journalDesign, record.CeilingPacked: journalDesign, record.CeilingCopy: journalDesign,
}

// The sizes of instances do and do not fit the batches.
func TestInstancesBeginAndEnd(t *testing.T) {
	completions, batched := depth.Of(int64(60), 350), depth.Of(int64(20), 50)
	for way, design := range designsOfWays {
		s := lot(t, design)
		for _, nodes := range []int{1, 7, 10, int(completions) - 10} {
			if err := s.empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			batch := int64(1)
			if ways[way].groups {
				batch = batched
			}
			w := shaped(t, s, way, int(batch), nodes)
			for n := int64(0); n < completions; n += batch {
				if err := w.call(t.Context()); err != nil {
					t.Fatalf("%s, %d nodes: %v", way, nodes, err)
				}
			}
			ended, running := completions/int64(nodes), int64(1000/nodes+2)
			want := tally{completions: completions, queued: w.tally().queued, running: running, ended: ended, elements: completions, raises: completions}
			if err := s.check(t.Context(), want); err != nil || want != w.tally() {
				t.Errorf("%s, %d nodes: %v; tally %+v", way, nodes, err, w.tally())
			}
			for what, want := range map[string]int64{
				"SELECT count(*) FROM instances WHERE status = 'completed' AND octet_length(result::text) = 64 AND ended_at >= submitted_at AND NOT needs_cleanup": ended,
				"SELECT count(*) FROM instances WHERE octet_length(input::text) = 64":                                                                              ended + running,
				"SELECT count(*) FROM instances e JOIN instances r ON e.id >= r.id WHERE e.status = 'completed' AND r.status = 'running'":                          0,
			} {
				if got := countOf(t, s.conn, what); got != want {
					t.Errorf("%s, %d nodes: %s: %d, want %d", way, nodes, what, got, want)
				}
			}
		}
	}
}

func countOf(t *testing.T, conn *pgx.Conn, query string, args ...any) (got int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&got); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

// Both ways must write the same rows, apart from times.
func TestAppendedInstancesEqualCopied(t *testing.T) {
	const all = "SELECT string_agg(e::text, E'\\n' ORDER BY seq), (" +
		"SELECT string_agg((to_jsonb(i) - 'submitted_at' - 'ended_at')::text, E'\\n' ORDER BY id) FROM instances i) FROM events e"
	var tables []string
	for _, way := range []string{record.CeilingAppend, record.CeilingCopy} {
		s := lot(t, journalDesign)
		w := shaped(t, s, way, 30, 9)
		for range 7 {
			if err := w.call(t.Context()); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
		}
		var events, instances string
		if err := s.conn.QueryRow(t.Context(), all).Scan(&events, &instances); err != nil || strings.Count(events, "\n") != 210-23-1 {
			t.Fatalf("%s: %v, %.300q", way, err, events)
		}
		tables = append(tables, events+"\n"+instances)
	}
	if tables[0] != tables[1] {
		t.Errorf("appended:\n%.300s\ncopied:\n%.300s", tables[0], tables[1])
	}
}

// A fenced write must end no instance and yield no figure.
func TestFencedInstances(t *testing.T) {
	s := lot(t, journalDesign)
	w := shaped(t, s, record.CeilingAppend, 10, 1) // no event at all: each completion ends its instance
	if err := w.call(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.run(t.Context(), "UPDATE shards SET epoch = epoch + 1"); err != nil {
		t.Fatal(err)
	}
	if err := w.call(t.Context()); err == nil || !strings.Contains(err.Error(), "instead of 1") {
		t.Errorf("got %v", err)
	}
	if got := countOf(t, s.conn, "SELECT count(*) FROM instances WHERE status = 'completed'"); got != 10 {
		t.Errorf("%d instances have ended, want 10", got)
	}
}

// A round must measure each shape separately, at the points of the same search.
func TestShapes(t *testing.T) {
	cfg := tiny(t)
	cfg.Nodes, cfg.Ways, cfg.Idle = []int{0, 10}, []string{record.CeilingCall, record.CeilingAppend}, false
	m := meter(t, cfg)
	if err := m.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := m.Result()
	if err := got.Validate(); err != nil || len(got.Rates) != 4 {
		t.Fatalf("%v, %+v", err, got)
	}
	for _, way := range cfg.Ways {
		pure, whole := got.RateFor(way, 0, nil), got.RateFor(way, 12, nil)
		if pure.NodesPerInstance != 0 || whole.NodesPerInstance != 10 || len(pure.Points) != len(whole.Points) {
			t.Errorf("%s: %+v, %+v", way, pure, whole)
		}
	}
	for want, nodes := range map[string][]int{
		"0 numbers of nodes": {}, "-1 nodes per instance": {-1}, "1000001 nodes per instance": {MaxNodes + 1}, "each number once": {5, 5},
		"17 numbers of nodes": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17},
	} {
		bad := cfg
		bad.Nodes = nodes
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", nodes, err, want)
		}
	}
	if text := fmt.Sprint(m.points[len(m.points)-1]); text != fmt.Sprintf("append, instances of 10, %d a call, on 3 connection(s)", slices.Max(cfg.Batches)) {
		t.Errorf("named %q", text)
	}
}
