package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/internal/depth"
)

// Users of other systems reported these bugs. Further reports are cases of the conformance suite, or tests of a design; go run
// ./chaos/mutants --list lists all.

type missing struct{ backend.Backend }

func (missing) Listen(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}

func (missing) Notify(context.Context) error { return nil }

// An idle engine must find by polling what another process makes ready, if every notification is lost (I9; absurd#61).
func TestLostWakeUp(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		p := program(s.T, "fn main(input: [x], output: [y]):\n    y = @double(value=x)\n    y = @double(value=y)\n", ir.Limits{})
		e := s.host(missing{s.open()}, engine.Config{Poll: 50 * time.Millisecond, Lease: time.Second})
		if inst := s.ends(e, p, `{"x": 1}`); string(inst.Result) != "4" {
			s.Fatalf("it gives %s (%v)", inst.Result, inst.Failure)
		}
		other := s.open()
		id := shardZero(other)
		out, err := other.Submit(s.ctx, []backend.Submission{{ID: id, Program: p, Input: json.RawMessage(`{"x": 2}`)}}, granted(0))
		if err != nil || out.Outcomes[0].Answer != backend.Applied || len(out.Tasks) > 0 {
			s.Fatalf("submitted elsewhere: %+v, %v", out, err)
		}
		ctx, cancel := context.WithTimeout(s.ctx, hazardDeadline/4)
		defer cancel()
		if inst, err := e.Wait(ctx, id); err != nil || string(inst.Result) != "8" {
			s.Errorf("I9: without a notification the work is not found: %s (%v), %v", inst.Result, inst.Failure, err)
		}
	})
}

// Each commit updates one of push's commit slots. These updates must stay in their page and change no index: with an index on a
// changed column each would leave a dead entry in every index (multica#7389). Leases of push's node runs are exempt: an index
// on their end finds them.
func TestHeartbeatOnAnIndexedColumn(t *testing.T) {
	width := depth.Of(100, 600)
	design, err := designs.Parse("push")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, design)
	b := s.open()
	e := s.host(b, engine.Config{Batch: 1})
	p := program(t, "fn main(input: [n], output: [total]):\n    xs = spread range(n):i -> @double(value=i)\n    total = sum(xs)\n", ir.Limits{})
	if inst := s.ends(e, p, fmt.Sprintf(`{"n": %d}`, width)); string(inst.Result) != fmt.Sprint(width*(width-1)) {
		t.Errorf("the fan-out gives %s (%v)", inst.Result, inst.Failure)
	}
	s.stop(e)
	b.Close()
	s.resolved()
	updates := s.number("SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'commits'", s.schema)
	hot := s.number("SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'commits'", s.schema)
	if updates < int64(width/2) {
		t.Fatalf("inconclusive: %d updates in %d completions", updates, width)
	}
	if 10*hot < 8*updates {
		t.Errorf("%d of %d updates left the indexes alone, want 80 %% at least", hot, updates)
	}
}
