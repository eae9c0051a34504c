package engine_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

// These variables make this test binary an engine whose only action kills it.
const (
	poisonEnv = "PULLEY_TEST_POISON"
	boundEnv  = "PULLEY_TEST_BOUND"
)

func TestChildPoison(t *testing.T) {
	c := childOf(t, poisonEnv)
	if c == nil {
		return
	}
	bound, err := strconv.Atoi(os.Getenv(boundEnv))
	if err != nil {
		t.Fatal(err)
	}
	c.run(engine.Config{
		Lease: childLease, Poll: 20 * time.Millisecond, MaxDeliveries: bound,
		Observer: engine.Observer{Ended: func(inst backend.Instance, _ time.Time) {
			fmt.Println("ended", inst.Status, string(inst.Result), inst.Failure)
		}},
	}, worker.Action{Name: "poison", Run: poison}, worker.Action{Name: "harmless", Run: harmless})
}

func poison(_ context.Context, call worker.Call) (any, error) {
	fmt.Println("begun", call.Attempt, call.Delivery)
	return nil, killSelf()
}

func harmless(context.Context, worker.Call) (any, error) { return "harmless", nil }

func (s *site) poisoned(bound int) (begun []string, end string) {
	s.Helper()
	end, err := s.runChild("TestChildPoison", poisonEnv, boundEnv+"="+strconv.Itoa(bound), func(said string) {
		if text, ok := strings.CutPrefix(said, "begun "); ok {
			begun = append(begun, text)
		}
	})
	if (err != nil) != (end == "") {
		s.Errorf("the engine that said %q and %q: %v", begun, end, err)
	}
	return begun, end
}

// An attempt kills each engine with SIGKILL. As many engines as the bound allows start it; the next fails it, which the
// workflow catches. A retry is a new attempt with its own bound. Each case takes as many engines as attempts on each design: before a
// change, the cases are distributed among the designs.
func TestPoisonKillsABoundedNumberOfEngines(t *testing.T) {
	for i, c := range []struct {
		name, call string
		bound      int
		want       []string // attempts and deliveries that start
	}{
		{"five", "@poison()", 5, []string{"1 1", "1 2", "1 3", "1 4", "1 5"}},
		{"three", "@poison()", 3, []string{"1 1", "1 2", "1 3"}},
		{"one", "@poison()", 1, []string{"1 1"}},
		{"retried", "@poison() [retry: 1]", 2, []string{"1 1", "1 2", "2 1", "2 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := designs.Durable()
			on(t, depth.Of(all[i:i+2], all), func(s *site) {
				s.lease = childLease
				store := s.open()
				s.store(store, program(s.T, `fn main(input: [], output: [x]):
    x = "not caught"
    before = @harmless()
    try:
        x = `+c.call+`
    except Other:
        x = "caught as another"
    except WorkerDied:
        x = before + ", and caught"
`, ir.Limits{}))
				store.Close()
				var all []string
				for range len(c.want) + 2 {
					begun, end := s.poisoned(c.bound)
					all = append(all, begun...)
					if end == "" {
						s.lapseLeases()
						continue
					}
					if end != `completed "harmless, and caught" <nil>` {
						s.Errorf("the end is %s", end)
					}
					break
				}
				if fmt.Sprint(all) != fmt.Sprint(c.want) {
					s.Errorf("begun were attempts and deliveries %q; want %q", all, c.want)
				}
			})
		})
	}
}
