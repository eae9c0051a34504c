package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// What a claim reads must not depend on the number of queued node runs. The journal's queue is in memory, so it is left out.
func TestClaimsCostTheSameBesideABacklog(t *testing.T) {
	const few, claims, most = 1000, 20, 20
	many := depth.Of(20_000, 1_000_000)
	_ = pgtest.DSN(t)
	list := slices.DeleteFunc(designs.Durable(), func(d designs.Spec) bool { return d.Name() == "journal" })
	on(t, list, func(s *site) {
		p := program(s.T, "fn main(input: [n], output: [xs]):\n    xs = spread range(n):i -> @double(value=i)\n", ir.Limits{})
		cost := func(add int) claimCost {
			b := s.open()
			for ; add > 0; add -= few {
				sub := backend.Submission{ID: shardZero(b), Program: p, Input: json.RawMessage(fmt.Sprintf(`{"n": %d}`, few))}
				if _, err := b.Submit(s.ctx, []backend.Submission{sub}, granted(0)); err != nil {
					s.Fatal(err)
				}
			}
			b.Close()
			s.resolved()
			s.exec("ANALYZE")
			first := s.claims(0, most)
			return s.claims(claims, most).without(first).each(claims * most)
		}
		alone, beside := cost(few), cost(many)
		s.Logf("for each of %d with %d queued %v, with %d %v", most, few, alone, many, beside)
		if beside.rows > 1.2*alone.rows {
			s.Errorf("each reads %.2f rows with %d queued, and %.2f with %d", alone.rows, few, beside.rows, many)
		}
	})
}

type claimCost struct {
	rows, pages float64
	took        time.Duration
}

func (c claimCost) without(o claimCost) claimCost {
	return claimCost{c.rows - o.rows, c.pages - o.pages, c.took}
}

func (c claimCost) each(n int) claimCost {
	return claimCost{c.rows / float64(n), c.pages / float64(n), c.took / time.Duration(n)}
}

func (c claimCost) String() string {
	return fmt.Sprintf("%.2f rows and %.2f pages are read, in %v", c.rows, c.pages, c.took)
}

// claims makes one claim before it measures, so that initial scans are done.
func (s *site) claims(times, most int) (cost claimCost) {
	s.Helper()
	before := s.reads()
	b := s.open()
	for i := range 1 + times {
		began := time.Now()
		out, err := b.Claim(s.ctx, 0, granted(most))
		if err != nil || len(out.Tasks) != most {
			s.Fatalf("%d of %d are leased, %v", len(out.Tasks), most, err)
		}
		if i > 0 {
			cost.took += time.Since(began)
		}
	}
	b.Close()
	s.resolved()
	after := s.reads().without(before)
	cost.rows, cost.pages = after.rows, after.pages
	return cost
}

// reads counts the rows read of the store's tables, and the pages of tables and indexes.
func (s *site) reads() claimCost {
	s.Helper()
	return claimCost{
		rows: float64(s.number("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE schemaname = $1", s.schema)),
		pages: float64(s.number(`SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::bigint
			FROM pg_statio_user_tables WHERE schemaname = $1`, s.schema)),
	}
}
