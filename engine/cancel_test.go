package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

type holder struct {
	began  chan struct{}
	causes chan error
}

func newHolder() *holder {
	return &holder{began: make(chan struct{}, 100), causes: make(chan error, 100)}
}

func (h *holder) hold(ctx context.Context, _ worker.Call) (any, error) {
	h.began <- struct{}{}
	<-ctx.Done()
	h.causes <- context.Cause(ctx)
	return nil, ctx.Err()
}

func next[T any](s *site, from <-chan T) T {
	s.Helper()
	select {
	case v := <-from:
		return v
	case <-s.ctx.Done():
		s.Fatal("nothing comes")
		panic("unreachable")
	}
}

func (s *site) with(name string, fn worker.Func) *worker.Registry {
	s.Helper()
	r := s.actions(nil)
	if err := r.Register(name, fn); err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *site) submitted(e *engine.Engine, p *plan.Program, input string) uuid.UUID {
	s.Helper()
	id, err := e.Submit(s.ctx, engine.SubmitRequest{Program: p, Input: []byte(input)})
	if err != nil {
		s.Fatal(err)
	}
	return id
}

func (s *site) wantCanceled(inst backend.Instance, err error, reason string) {
	s.Helper()
	f := inst.Failure
	if err != nil || inst.Status != backend.Canceled || f == nil || f.Type != backend.CanceledType || f.Message != reason {
		s.Errorf("%s (%v), %v; want canceled: %s", inst.Status, f, err, reason)
	}
}

const holding = `fn main(input: [n], output: [out]):
    try:
        out = spread range(n):i -> @hold()
        sleep 3600
    except:
        out = "caught"
`

func TestCancelEndsWhatRunsAndWhatWaits(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		h := newHolder()
		ended := make(chan backend.Instance, 10)
		e := s.host(s.open(), engine.Config{
			Slots: 2, Prefetch: 2, Workers: s.with("hold", h.hold),
			Observer: engine.Observer{Ended: func(inst backend.Instance, _ time.Time) { ended <- inst }},
		})
		id := s.submitted(e, program(s.T, holding, ir.Limits{}), `{"n": 10}`)
		next(s, h.began)
		next(s, h.began)
		inst, err := e.Cancel(s.ctx, id, "no longer wanted")
		s.wantCanceled(inst, err, "no longer wanted")
		for range 2 {
			if cause := next(s, h.causes); !errors.Is(cause, dispatch.ErrInstanceEnded) {
				s.Errorf("an action was cut off because of: %v", cause)
			}
		}
		inst, err = e.Wait(s.ctx, id)
		s.wantCanceled(inst, err, "no longer wanted")
		inst, err = e.Cancel(s.ctx, id, "again")
		s.wantCanceled(inst, err, "no longer wanted")

		if out := s.ends(e, program(s.T, "fn main(input: [], output: [x]):\n    x = @add(a=1, b=1)\n", ir.Limits{}), `{}`); string(out.Result) != "2" {
			s.Errorf("the next instance: %s %v", out.Result, out.Failure)
		}
		if first, more := next(s, ended), len(h.began); first.ID != id || first.Status != backend.Canceled || more > 0 {
			s.Errorf("observed the end of %s as %s; %d actions began afterwards", first.ID, first.Status, more)
		}
	})
}

// One engine cancels what runs in another, which finds out when it renews its leases. The other's clock jumps there, so the
// test need not wait.
func TestCancelElsewhere(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		const lease = time.Minute
		h := newHolder()
		var ahead atomic.Int64
		one := s.host(s.open(), engine.Config{
			Lease: lease, Poll: 20 * time.Millisecond, Workers: s.with("hold", h.hold),
			Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		})
		id := s.submitted(one, program(s.T, holding, ir.Limits{}), `{"n": 1}`)
		next(s, h.began)
		two := s.host(s.open(), engine.Config{})
		inst, err := two.Cancel(s.ctx, id, "from there")
		s.wantCanceled(inst, err, "from there")
		ahead.Store(int64(lease/3 + time.Second))
		if cause := next(s, h.causes); !errors.Is(cause, dispatch.ErrInstanceEnded) {
			s.Errorf("the action was cut off because of: %v", cause)
		}
		inst, err = one.Wait(s.ctx, id)
		s.wantCanceled(inst, err, "from there")
	})
}

func TestCancelASleep(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		e := s.host(s.open(), engine.Config{})
		id := s.submitted(e, program(s.T, "fn main(input: [], output: []):\n    sleep 3600\n", ir.Limits{}), `{}`)
		inst, err := e.Cancel(s.ctx, id, "")
		s.wantCanceled(inst, err, "")
	})
}

func TestCancelWhatCannotBe(t *testing.T) {
	s := newSite(t, memoryDesign(t))
	e := s.host(s.open(), engine.Config{})
	if _, err := e.Cancel(s.ctx, uuid.New(), "x"); !errors.Is(err, engine.ErrUnknownInstance) {
		t.Errorf("an unknown instance: %v", err)
	}
	done := s.ends(e, program(t, "fn main(input: [], output: [x]):\n    x = 1\n", ir.Limits{}), `{}`)
	if inst, err := e.Cancel(s.ctx, done.ID, "too late"); err != nil || inst.Status != backend.Completed || string(inst.Result) != "1" {
		t.Errorf("one that has ended: %s %s, %v", inst.Status, inst.Result, err)
	}
	if _, err := e.Cancel(s.ctx, done.ID, strings.Repeat("x", 1<<20)); err == nil || !strings.Contains(err.Error(), "shorten it") {
		t.Errorf("a reason without end: %v", err)
	}
	plain := s.host(struct{ backend.Backend }{s.open()}, engine.Config{})
	if _, err := plain.Cancel(s.ctx, done.ID, "x"); !errors.Is(err, engine.ErrCannotCancel) {
		t.Errorf("a backend that cannot: %v", err)
	}
	s.stop(plain)
	if _, err := plain.Cancel(s.ctx, done.ID, "x"); !errors.Is(err, engine.ErrNotRunning) {
		t.Errorf("a stopped engine: %v", err)
	}
}
