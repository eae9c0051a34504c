package ceiling_test

import (
	"math"
	"testing"
	"time"

	"pulley/bench"
	"pulley/bench/ceiling"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

func TestTheSameRows(t *testing.T) {
	cases, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"2,10"}})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := designs.Parse("journal")
	if err != nil {
		t.Fatal(err)
	}
	found, err := bench.Compare(t.Context(), bench.CompareConfig{
		Cases: cases, Backends: []designs.Spec{journal}, Runs: 1, DSN: pgtest.DSN(t), InFlight: 100, MinNodes: depth.Of(1000, 3000),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found.Manifest.Samples {
		if !s.Valid || s.Counters == nil || s.Counters.RowsInserted == nil || s.Counters.RowsUpdated == nil {
			t.Fatalf("chain of %d: %+v", s.Size, s)
		}
		inserted, updated := ceiling.AppendedPerNode(t, s.Size)
		nodes := float64(s.Nodes * s.Instances)
		runInserted, runUpdated := float64(*s.Counters.RowsInserted)/nodes, float64(*s.Counters.RowsUpdated)/nodes
		// A run also stores its program, and renews the leases of its 4 shards each second. These rows add to those of the
		// nodes.
		renewed := 8 * (1 + float64(s.ElapsedNS)/float64(time.Second))
		if math.Abs(inserted-runInserted) > 0.02 || updated-runUpdated > 0.02 || runUpdated-updated > 0.03+renewed/nodes {
			t.Errorf("chain of %d: the ceiling inserts %.3f rows per node and updates %.3f, a run %.3f and %.3f", s.Size, inserted, updated, runInserted, runUpdated)
		}
	}
}
