package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/internal/pgtest"
)

type post struct {
	*world
	owner, asker *Backend
}

func newPost(t *testing.T) *post {
	w := newWorld(t, 1)
	w.cfg.Lease = time.Hour
	return &post{world: w, owner: w.open(), asker: w.open()}
}

type asked struct {
	out backend.Committed
	err error
}

func (p *post) ask(ctx context.Context, cs ...backend.Completion) (forward.Message, <-chan asked) {
	p.Helper()
	return p.request(func() (backend.Committed, error) { return p.asker.Complete(ctx, 0, cs, granted(0)) })
}

func (p *post) request(call func() (backend.Committed, error)) (forward.Message, <-chan asked) {
	p.Helper()
	freeze(p.owner) // the test reads its requests
	done := make(chan asked, 1)
	go func() {
		out, err := call()
		done <- asked{out, err}
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if got, err := p.owner.desk.FetchRequests(p.ctx, 0); err == nil && len(got) > 0 {
			return got[0], done
		}
		select {
		case <-tick.C:
		case a := <-done:
			p.Fatalf("answered %+v (%v) before anybody was asked", a.out.Outcomes, a.err)
		case <-p.ctx.Done():
			p.Fatalf("no request comes: %v", p.ctx.Err())
		}
	}
}

func (p *post) release() {
	p.Helper()
	sh := p.owner.shards[0]
	if err := sh.lock(p.ctx); err != nil {
		p.Fatal(err)
	}
	defer sh.unlock()
	if err := sh.release(p.ctx); err != nil {
		p.Fatal(err)
	}
}

func (p *post) wait(done <-chan asked) asked {
	p.Helper()
	select {
	case a := <-done:
		return a
	case <-p.ctx.Done():
		p.Fatalf("the request is not answered: %v", p.ctx.Err())
		return asked{}
	}
}

func (p *post) applied(a asked, completions, ended int) {
	p.Helper()
	n := 0
	for _, o := range a.out.Outcomes {
		if o.Answer == backend.Applied {
			n++
		}
	}
	if a.err != nil || n != completions || len(a.out.Ended) != ended {
		p.Errorf("answered %+v, %d ended (%v); want %d applied and %d ended (D7)", a.out.Outcomes, len(a.out.Ended), a.err, completions, ended)
	}
	for _, in := range a.out.Ended {
		if err := p.want[in.ID].Expect(in); err != nil {
			p.Error(err)
		}
	}
}

func (p *post) two() []backend.Completion {
	return []backend.Completion{ran(p.launch(p.owner, alone)[0]), ran(p.launch(p.owner, sequence)[0])}
}

// TestAnswerLost loses the answers to forwarded completions in every way. Each completion must be answered as applied once,
// together with the ends (D7, I3).
func TestAnswerLost(t *testing.T) {
	t.Run("given away behind the append", func(t *testing.T) {
		p := newPost(t)
		m, done := p.ask(p.ctx, p.two()...)
		p.owner.answer(p.ctx, p.owner.shards[0], m)
		p.release()
		p.applied(p.wait(done), 2, 1)
		p.release()
		p.finish(p.asker)
	})
	t.Run("given away before it", func(t *testing.T) {
		p := newPost(t)
		m, done := p.ask(p.ctx, p.two()...)
		p.release()
		p.applied(p.wait(done), 2, 1)
		if r := p.owner.answer(p.ctx, p.owner.shards[0], m); !r.Foreign {
			t.Errorf("who gave the shard away answers %+v", r)
		}
		p.release()
		p.finish(p.asker)
	})
	t.Run("withdrawn behind the append", func(t *testing.T) {
		for _, answered := range []bool{false, true} {
			p := newPost(t)
			ctx, cancel := context.WithCancel(p.ctx)
			defer cancel()
			m, done := p.ask(ctx, p.two()...)
			r := p.owner.answer(p.ctx, p.owner.shards[0], m)
			cancel()
			if answered {
				p.owner.reply(p.ctx, p.owner.shards[0], m, r)
			}
			p.applied(p.wait(done), 2, 1)
			p.release()
			p.finish(p.asker)
		}
	})
	t.Run("withdrawn before it", func(t *testing.T) {
		p := newPost(t)
		ctx, cancel := context.WithCancel(p.ctx)
		defer cancel()
		cs := p.two()
		m, done := p.ask(ctx, cs...)
		cancel()
		if a := p.wait(done); !errors.Is(a.err, context.Canceled) || backend.IsUnknown(a.err) {
			t.Fatalf("answered %+v (%v); want that nothing was applied", a.out, a.err)
		}
		if r := p.owner.answer(p.ctx, p.owner.shards[0], m); r.Error == "" || r.Unknown {
			t.Errorf("the owner answers %+v to what was withdrawn", r)
		}
		out, err := p.owner.Complete(p.ctx, 0, cs, granted(0))
		p.applied(asked{out, err}, 2, 1)
		p.release()
		p.finish(p.asker)
	})
}

// What a claim leased that was withdrawn before its answer can be claimed at once, before the lease ends that nobody knows of, and
// counts as not delivered.
func TestWithdrawnClaim(t *testing.T) {
	p := newPost(t)
	task := p.launch(p.owner, alone)[0]
	if kept, err := p.owner.Renew(p.ctx, 0, []backend.Lease{task.Lease}, backend.Grant{}); err != nil || !kept[0] {
		t.Fatalf("returned: %v, %v", kept, err)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	m, done := p.request(func() (backend.Committed, error) { return p.asker.Claim(ctx, 0, granted(1)) })
	r := p.owner.answer(p.ctx, p.owner.shards[0], m)
	cancel()
	if a := p.wait(done); !errors.Is(a.err, context.Canceled) || len(r.Tasks) != 1 {
		t.Fatalf("answered %+v (%v), with %d tasks on their way; want one, withdrawn", a.out, a.err, len(r.Tasks))
	}
	p.owner.reply(p.ctx, p.owner.shards[0], m, r)
	out, err := p.owner.Claim(p.ctx, 0, granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != task.Lease.Key || out.Tasks[0].Deliveries != 1 {
		t.Fatalf("claimed is %+v, %v; want %+v at its first delivery", out.Tasks, err, task.Lease.Key)
	}
}

// TestCrashTakesRequests loses an executed request in a crash: the outcome must be unknown, whether or not the request's arrival
// was confirmed (I3). Without a crash, a missing request never arrived.
func TestCrashTakesRequests(t *testing.T) {
	p := newPost(t)
	cs := p.two()
	life, err := p.asker.store.Incarnation(p.ctx)
	if err != nil {
		t.Fatal(err)
	}
	cut := errors.New("the connection is cut")
	req := forward.Request{Op: forward.Complete}
	if _, err := p.asker.desk.Withdraw(0, p.asker.clock.NewID(), req, life, cut); !errors.Is(err, cut) || backend.IsUnknown(err) {
		t.Errorf("a request that never came: %v; want that nothing was applied", err)
	}
	m, done := p.ask(p.ctx, cs...)
	p.owner.answer(p.ctx, p.owner.shards[0], m)
	if _, err := p.owner.store.Pool.Exec(p.ctx, "TRUNCATE requests, incarnation"); err != nil {
		t.Fatal(err)
	}
	if a := p.wait(done); !backend.IsUnknown(a.err) {
		t.Errorf("answered %+v (%v); want that it is not known", a.out, a.err)
	}
	if _, err := p.asker.desk.Withdraw(0, m.ID, req, life, cut); !backend.IsUnknown(err) {
		t.Errorf("a request of which nothing was heard: %v; want that it is not known", err)
	}
	if now, err := p.asker.store.Incarnation(p.ctx); err != nil || now == life {
		t.Errorf("the server's life after a crash is %s (%v), as before", now, err)
	}
	p.release()
	p.finish(p.asker)
}

// TestLostRequests cuts the connection of a calling engine at every message of a completion. The answer must never be unknown,
// since the server is up.
func TestLostRequests(t *testing.T) {
	w := newCutWorld(t)
	owner := w.open()
	asker := w.b
	if _, err := owner.Claim(w.ctx, 0, granted(0)); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, c := range []pgtest.Cut{{Mode: pgtest.CutAfter, Client: true}, {Mode: pgtest.CutBefore}} {
		made += w.everyMessage(c, func() designtest.Trial {
			w.b = asker
			cs := []backend.Completion{ran(w.launch(owner, alone)[0]), ran(w.launch(owner, sequence)[0])}
			tr := w.offering(cs...)
			return designtest.Trial{Judge: tr.Judge, Call: func() error {
				err := tr.Call()
				if backend.IsUnknown(err) {
					t.Errorf("%s: %v; want what happened", c, err)
				}
				return err
			}}
		})
	}
	t.Logf("%d cuts", made)
	asker.Close()
	owner.Close()
	fresh := w.open()
	if _, err := fresh.store.Pool.Exec(w.ctx, "DELETE FROM leases"); err != nil { // their holders have exited
		t.Fatal(err)
	}
	w.finish(fresh)
}
