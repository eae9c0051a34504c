package backendtest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

var leaseCases = []testCase{
	{name: "renew/kept and lost", run: renewKept},
	{name: "renew/keeps the lease", run: renewKeepsLease},
	{name: "renew/reclaimed", run: renewReclaimed},
	{name: "renew/ended instance", run: renewEnded},
	{name: "renew/nothing", run: renewNothing},
}

var storeCases = []testCase{
	{name: "lookup/order and unknown", run: lookupOrder},
	{name: "sweep/leaves the living alone", shards: 2, run: sweepRunning},
	{name: "sweep/empty store", shards: 3, run: sweepEmpty},
	{name: "sweep/finished concurrently", run: sweepFinished},
	{name: "reopen/continues", run: reopenContinues},
	{name: "reopen/counters survive", run: reopenBarrier},
	{name: "reopen/retries are counted", run: reopenRetries},
	{name: "context/a call that is cut off", run: contextDone},
	{name: "close/ends the calls", run: closed},
	{name: "listen/is woken", run: listen},
}

func (r *rig) renew(g backend.Grant, leases ...backend.Lease) []bool {
	r.Helper()
	kept, err := r.b.Renew(r.ctx, 0, leases, g)
	if err != nil {
		r.Fatalf("Extend: %v", err)
	}
	if len(kept) != len(leases) {
		r.Fatalf("Extend: %d answers for %d leases", len(kept), len(leases))
	}
	return kept
}

func renewKept(r *rig) {
	_, tasks := r.several(fan, `{"n": 3}`, 3)
	r.applied(grant(0), done(tasks[1], `1`))
	forged := tasks[2].Lease
	forged.Token++
	stranger := tasks[0].Lease
	stranger.Key.Instance = uuid.New()
	kept := r.renew(grant(0), tasks[0].Lease, tasks[1].Lease, forged, stranger, tasks[2].Lease)
	want := []bool{true, false, false, false, true}
	for i := range want {
		if kept[i] != want[i] {
			r.Errorf("lease %d is kept: %t; want %t", i, kept[i], want[i])
		}
	}
	r.applied(grant(0), done(tasks[0], `0`), done(tasks[2], `2`))
}

// renewKeepsLease renews one of two short leases for an hour: only the other must expire. If the clock is real, the renewal may
// come too late; then it must say so.
func renewKeepsLease(r *rig) {
	p := MustCompile(r, single)
	out := r.submit(brief(2), submission(p, `{"v": 1}`), submission(p, `{"v": 2}`))
	if len(out.Tasks) != 2 {
		r.Fatalf("%d tasks; want 2", len(out.Tasks))
	}
	if kept := r.renew(grant(0), out.Tasks[0].Lease); !kept[0] {
		if r.Advance != nil {
			r.Fatal("the lease was held, and Extend says it was not")
		}
		return
	}
	for _, t := range r.eventually(grant(5)) {
		if t.Lease.Key == out.Tasks[0].Lease.Key {
			r.Fatal("the node run whose lease was extended was handed out")
		}
	}
	r.applied(grant(0), done(out.Tasks[0], `1`))
}

func renewReclaimed(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, brief(1))
	again := r.eventually(grant(1))[0]
	kept := r.renew(brief(0), task.Lease, again.Lease)
	if kept[0] || !kept[1] {
		r.Errorf("kept is %v; want the first lost to the second", kept)
	}
}

func renewEnded(r *rig) {
	_, tasks := r.launch(fan, `{"n": 2}`, grant(2))
	r.applied(grant(0), failed(tasks[0], "Bad"))
	for i, kept := range r.renew(grant(0), tasks[0].Lease, tasks[1].Lease) {
		if kept {
			r.Errorf("lease %d of an ended instance was kept", i)
		}
	}
	r.clean()
}

func renewNothing(r *rig) { r.renew(grant(0)) }

func lookupOrder(r *rig) {
	done1 := r.submitOne(single, `{"v": 1}`, grant(1))
	r.applied(grant(0), done(done1, `"one"`))
	bad := r.submitOne(single, `{"v": 2}`, grant(1))
	r.applied(grant(0), failed(bad, "Bad"))
	running, _ := r.launch(single, `{"v": 3}`, grant(0))
	unknown := uuid.New()
	ids := []uuid.UUID{running, unknown, done1.Lease.Key.Instance, bad.Lease.Key.Instance, running}
	want := []backend.Status{backend.Running, "", backend.Completed, backend.Failed, backend.Running}
	got, err := r.b.Lookup(r.ctx, ids)
	if err != nil || len(got) != len(ids) {
		r.Fatalf("Lookup: %d instances for %d ids, %v", len(got), len(ids), err)
	}
	for i := range got {
		if got[i].Status != want[i] || got[i].ID != ids[i] {
			r.Errorf("answer %d is %s, %q; want %s, %q", i, got[i].ID, got[i].Status, ids[i], want[i])
		}
	}
	if f := got[3].Failure; f == nil || f.Type != "Bad" || f.Message != "made to fail" || f.Action != "echo" || f.Pos.Line != 3 {
		r.Errorf("failure %+v; want Bad of echo at line 3", f)
	}
	if none, err := r.b.Lookup(r.ctx, nil); err != nil || len(none) != 0 {
		r.Errorf("Lookup of nothing: %v, %v", none, err)
	}
}

func sweepRunning(r *rig) {
	p := MustCompile(r, fan)
	subs := make([]backend.Submission, 6)
	for i := range subs {
		subs[i] = submission(p, `{"n": 4}`)
	}
	held := map[uuid.UUID][]backend.Task{}
	for _, t := range r.submit(grant(24), subs...).Tasks {
		held[t.Lease.Key.Instance] = append(held[t.Lease.Key.Instance], t)
	}
	finish := func(sub backend.Submission, from, to int) {
		for _, t := range held[sub.ID][from:to] {
			r.applied(grant(0), done(t, `1`))
		}
	}
	for i, sub := range subs {
		if len(held[sub.ID]) != 4 {
			r.Fatalf("%d tasks of instance %d; want 4", len(held[sub.ID]), i)
		}
		finish(sub, 0, 2+2*(i%2)) // every other one to its end
	}
	r.clean()
	for i, sub := range subs {
		if i%2 == 0 {
			finish(sub, 2, 4)
		}
		r.completed(sub.ID, `[1,1,1,1]`)
	}
	r.clean()
}

func sweepEmpty(r *rig) { r.clean() }

// sweepFinished completes tasks after their leases have expired, while another process sweeps: the sweep must not make a
// completed node run ready again (I1, I3; river#1302).
func sweepFinished(r *rig) {
	const late = 40
	p := MustCompile(r, chain)
	subs := make([]backend.Submission, late)
	for i := range subs {
		subs[i] = submission(p, `{"v": 1}`)
	}
	tasks := r.submit(brief(late), subs...).Tasks
	for !r.claim(0, grant(0)).More {
		pause(r.ctx, 2*time.Millisecond, r.Advance)
	}
	sweeper, stop := r.reopen(), make(chan struct{})
	swept := make(chan error, 1)
	go func() {
		for {
			_, err := sweeper.Sweep(r.ctx, 0)
			select {
			case <-stop:
				swept <- err
				return
			default:
				if err != nil {
					swept <- err
					return
				}
			}
		}
	}()
	finished := map[backend.Key]bool{}
	for _, t := range tasks {
		r.applied(grant(0), done(t, `2`))
		finished[t.Lease.Key] = true
	}
	close(stop)
	if err := <-swept; err != nil {
		r.Fatalf("Sweep: %v", err)
	}
	next := r.claim(0, grant(2*late)).Tasks
	for _, t := range next {
		if finished[t.Lease.Key] {
			r.Errorf("I1: %v was completed, and is handed out again", t.Lease.Key)
		}
	}
	if len(finished) != late || len(next) != late {
		r.Errorf("%d runs were completed, and %d came next; want %d of each", len(finished), len(next), late)
	}
}

// reopenContinues loses a process that holds a lease: another must continue (I8).
func reopenContinues(r *rig) {
	task := r.submitOne(chain, `{"v": 5}`, grant(1))
	out := r.complete(brief(1), done(task, `5`)) // leases the successor to a process that dies
	r.answers(out, backend.Applied)
	r.b.Close()
	r.b = r.reopen()
	if got := r.b.Shards(); got != r.shards {
		r.Fatalf("the store has %d shards after it was opened again; want %d", got, r.shards)
	}
	r.answers(r.complete(grant(1), done(task, `6`)), backend.Stale)
	again := r.eventually(grant(1))[0]
	if again.Action != "double" || compact(again.Args) != `{"value":5}` || again.Lease.Token <= task.Lease.Token {
		r.Fatalf("%+v came; want double(value=5) with a new token", again)
	}
	if again.Program == nil || again.Program.Hash() != task.Program.Hash() {
		r.Fatal("the task came without its program")
	}
	r.applied(grant(0), done(again, `10`))
	r.completed(task.Lease.Key.Instance, `10`)
}

// reopenBarrier checks that arrivals and elements of one process count in the next.
func reopenBarrier(r *rig) {
	id, tasks := r.several(fan, `{"n": 6}`, 6)
	value := func(t backend.Task) backend.Completion { return done(t, string('0'+rune(t.Lease.Key.Run.Path.Last()))) }
	r.applied(grant(0), value(tasks[5]), value(tasks[0]))
	r.b.Close()
	r.b = r.reopen()
	r.answers(r.complete(grant(0), value(tasks[3]), value(tasks[0])), backend.Applied, backend.Stale)
	other := r.reopen()
	for i, b := range []backend.Backend{other, r.b, other} {
		t := tasks[[]int{4, 1, 2}[i]]
		r.answers(r.completeOn(b, grant(0), value(t)), backend.Applied)
	}
	r.completed(id, `[0,1,2,3,4,5]`)
	r.clean()
}

func reopenRetries(r *rig) {
	task := r.submitOne(`
fn main(input: [], output: [r]):
    r = @flaky(times=9) [retry: 2, backoff: 1ms]
`, `{}`, grant(1))
	for attempt := 1; ; attempt++ {
		if task.Attempt != attempt {
			r.Fatalf("attempt %d came; want %d", task.Attempt, attempt)
		}
		out := r.applied(grant(0), failed(task, "Flaky"))
		if attempt == 3 {
			if len(out.Ended) != 1 {
				r.Fatal("the retries are used up, and the instance continues")
			}
			return
		}
		r.b.Close()
		r.b = r.reopen()
		task = r.eventually(grant(1))[0]
	}
}

func contextDone(r *rig) {
	task := r.submitOne(chain, `{"v": 1}`, grant(1))
	dead, cancel := context.WithCancel(r.ctx)
	cancel()
	sub := submission(task.Program, `{"v": 2}`)
	if _, err := r.b.Submit(dead, []backend.Submission{sub}, grant(1)); err == nil {
		r.Error("Submit did not mind a dead context")
	}
	if _, err := r.b.Complete(dead, 0, []backend.Completion{done(task, `1`)}, grant(1)); err == nil {
		r.Error("Complete did not mind a dead context")
	} else if backend.IsUnknown(err) {
		r.Errorf("Complete was not begun, and its outcome is called unknown: %v", err)
	}
	if _, err := r.b.Claim(dead, 0, grant(1)); err == nil {
		r.Error("Claim did not mind a dead context")
	}
	if _, err := r.b.Lookup(dead, []uuid.UUID{sub.ID}); !errors.Is(err, context.Canceled) {
		r.Errorf("Lookup: %v; want context.Canceled in it", err)
	}
	if got := r.instance(sub.ID); got.Status != "" {
		r.Errorf("the submission failed, and its instance is %s", describe(got))
	}
	r.applied(grant(0), done(task, `1`))
}

func closed(r *rig) {
	b := r.reopen()
	b.Close()
	if _, err := b.Claim(r.ctx, 0, grant(1)); err == nil {
		r.Error("Claim on a closed backend did not fail")
	}
	if _, err := b.Lookup(r.ctx, []uuid.UUID{uuid.New()}); err == nil {
		r.Error("Lookup on a closed backend did not fail")
	}
	r.launch(single, `{"v": 1}`, grant(1)) // the other backend is not affected
}

// A backend that is no Listener passes.
func listen(r *rig) {
	speaker, ok := r.b.(backend.Listener)
	if !ok {
		r.Log("the backend is no Listener")
		return
	}
	hearer, ok := r.reopen().(backend.Listener)
	if !ok {
		r.Fatal("one backend of the store is a Listener and another is not")
	}
	ctx, cancel := context.WithCancel(r.ctx)
	woken, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- hearer.Listen(ctx, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
	}()
	for heard := false; !heard; { // it may not listen yet, and wakes may be lost
		if err := speaker.Notify(r.ctx); err != nil {
			r.Fatalf("Notify: %v", err)
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-woken:
			heard = true
		case err := <-ended:
			r.Fatalf("Listen ended: %v", err)
		case <-timer.C:
		}
		timer.Stop()
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			r.Errorf("Listen ended with %v; want nil after its context", err)
		}
	case <-r.ctx.Done():
		r.Error("Listen continues after its context has ended")
	}
}
