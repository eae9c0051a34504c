package engine_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// These variables make this test binary an engine whose only action always fails, and kills the process at a given attempt.
const (
	attemptsEnv = "PULLEY_TEST_ATTEMPTS"
	diesEnv     = "PULLEY_TEST_DIES"
)

func TestChildAttempts(t *testing.T) {
	c := childOf(t, attemptsEnv)
	if c == nil {
		return
	}
	c.run(engine.Config{
		Lease: childLease,
		Observer: engine.Observer{
			Started: func(task backend.Task, _ time.Time) { fmt.Println("started", task.Attempt, task.Lease.Token) },
			Ended:   func(inst backend.Instance, _ time.Time) { fmt.Println("ended", inst.Status, inst.Failure) },
		},
	}, worker.Action{Name: "attempt", Run: attempt})
}

func attempt(_ context.Context, call worker.Call) (any, error) {
	if fmt.Sprint(call.Attempt) != os.Getenv(diesEnv) {
		return nil, &worker.Error{Type: "Flaky", Message: fmt.Sprintf("attempt %d", call.Attempt)}
	}
	return nil, killSelf()
}

func (s *site) attempts(dies string) (starts [][2]int64, end string) {
	s.Helper()
	end, err := s.runChild("TestChildAttempts", attemptsEnv, diesEnv+"="+dies, func(said string) {
		var start [2]int64
		if n, _ := fmt.Sscanf(said, "started %d %d", &start[0], &start[1]); n == 2 {
			starts = append(starts, start)
		}
	})
	if (err != nil) != (dies != "") {
		s.Errorf("the engine that dies at attempt %q: %v", dies, err)
	}
	return starts, end
}

// An engine is killed during the second attempt of three. The next engine must run the second attempt again with a new token,
// then the third, and no more.
func TestRetriesAreCountedAcrossACrash(t *testing.T) {
	onEveryDatabase(t, func(s *site) {
		s.lease = childLease
		store := s.open()
		p := program(s.T, "fn main(input: [], output: [x]):\n    x = @attempt() [retry: 2, backoff: 10ms]\n", ir.Limits{})
		s.store(store, p)
		store.Close()
		before, end := s.attempts("2")
		if end != "" {
			s.Fatalf("it ended before the crash: %s", end)
		}
		s.lapseLeases()
		after, end := s.attempts("")
		if end != "failed Flaky: attempt 3 (@attempt) at hazard.ir:2:9" {
			s.Errorf("the end is %q", end)
		}
		token := int64(0)
		for i, start := range append(before, after...) {
			if want := []int64{1, 2, 2, 3}; len(before)+len(after) != len(want) || start[0] != want[i] || start[1] <= token {
				s.Errorf("attempts and tokens were %v, then %v", before, after)
				break
			}
			token = start[1]
		}
	})
}

func (s *site) store(b backend.Backend, p *plan.Program) {
	s.Helper()
	out, err := b.Submit(s.ctx, []backend.Submission{{ID: uuid.New(), Program: p, Input: []byte(`{}`)}}, granted(0))
	if err != nil || out.Outcomes[0].Answer != backend.Applied {
		s.Fatal(out.Outcomes, err)
	}
}
