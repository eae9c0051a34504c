package backendtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

var cancelCases = []testCase{
	{name: "cancel/queued and running", run: cancelRunning},
	{name: "cancel/waiting", run: cancelWaiting},
	{name: "cancel/ended, unknown, twice", shards: 3, run: cancelOthers},
	{name: "cancel/among completions", shards: 2, run: cancelRace},
	{name: "cancel/a call that is cut off", run: cancelCut},
}

func (r *rig) cancel(reason string, ids ...uuid.UUID) []backend.Instance {
	r.Helper()
	got, err := r.canceler().Cancel(r.ctx, ids, reason)
	if err != nil {
		r.Fatalf("Cancel: %v", err)
	}
	if len(got) != len(ids) {
		r.Fatalf("Cancel: %d instances for %d ids", len(got), len(ids))
	}
	for i := range got {
		if got[i].ID != ids[i] {
			r.Fatalf("Cancel: answer %d is of %s; want %s", i, got[i].ID, ids[i])
		}
	}
	return got
}

func (r *rig) canceler() backend.Canceler {
	r.Helper()
	c, ok := r.b.(backend.Canceler)
	if !ok {
		r.Fatal("the backend is no Canceler")
	}
	return c
}

func (r *rig) canceled(got backend.Instance, reason string) {
	r.Helper()
	if got.Status != backend.Canceled || got.Failure == nil || got.Failure.Type != backend.CanceledType || got.Failure.Message != reason {
		r.Fatalf("instance %s; want it canceled with %q", describe(got), reason)
	}
}

func cancelRunning(r *rig) {
	id, tasks := r.several(fan, `{"n": 6}`, 4)
	other := r.submitOne(chain, `{"v": 1}`, grant(1))
	r.applied(grant(0), done(tasks[0], `0`))
	got := r.cancel("no more", id)[0]
	r.canceled(got, "no more")
	if read := r.instance(id); !same(read, got) {
		r.Errorf("Cancel says %s, and Lookup %s", describe(got), describe(read))
	}
	if out := r.claim(0, grant(10)); len(out.Tasks) > 0 || out.More {
		r.Errorf("%d node runs of a canceled instance were handed out; More is %t", len(out.Tasks), out.More)
	}
	for i, kept := range r.renew(grant(0), tasks[1].Lease, tasks[2].Lease) {
		if kept {
			r.Errorf("lease %d of a canceled instance is held", i)
		}
	}
	out := r.complete(grant(5), done(tasks[1], `1`), done(other, `1`), failed(tasks[2], "Bad"))
	r.answers(out, backend.Stale, backend.Applied, backend.Stale)
	if len(out.Ended) > 0 {
		r.Errorf("%d instances ended once more", len(out.Ended))
	}
	r.clean()
	r.canceled(r.instance(id), "no more")
	r.b.Close()
	r.b = r.reopen()
	r.answers(r.complete(grant(5), done(tasks[3], `3`)), backend.Stale)
	r.canceled(r.instance(id), "no more")
	r.answers(r.submit(grant(5), backend.Submission{ID: id, Program: tasks[0].Program, Input: []byte(`{"n": 1}`)}), backend.Duplicate)
	if got := r.instance(other.Lease.Key.Instance); got.Status != backend.Running {
		r.Errorf("another instance is %s", describe(got))
	}
}

func cancelWaiting(r *rig) {
	asleep, tasks := r.launch(sleepingSource, `{"seconds": 0.02}`, grant(1))
	r.applied(grant(0), done(tasks[0], `1`))
	waiting, tasks := r.launch(`
fn main(input: [], output: [r]):
    r = @flaky(times=1) [retry: 2, backoff: 20ms]
`, `{}`, grant(1))
	r.applied(grant(0), failed(tasks[0], "Flaky"))
	witness, tasks := r.launch(sleepingSource, `{"seconds": 0.05}`, grant(1))
	r.applied(grant(0), done(tasks[0], `1`))
	for _, got := range r.cancel("", asleep, waiting) {
		r.canceled(got, "")
	}
	r.clean()
	for _, t := range r.eventually(grant(5)) { // once the last of the three is due, the others would be as well
		if t.Lease.Key.Instance != witness {
			r.Errorf("%+v came, of a canceled instance", t)
		}
	}
}

func cancelOthers(r *rig) {
	p := MustCompile(r, single)
	var ids []uuid.UUID
	tasks := map[uuid.UUID]backend.Task{}
	var subs []backend.Submission
	for i := range 9 {
		subs = append(subs, submission(p, fmt.Sprintf(`{"v": %d}`, i)))
		ids = append(ids, subs[i].ID)
	}
	for _, t := range r.submit(grant(9), subs...).Tasks {
		tasks[t.Lease.Key.Instance] = t
	}
	r.applied(grant(0), done(tasks[ids[0]], `"end"`))
	r.applied(grant(0), failed(tasks[ids[1]], "Bad"))
	before := []backend.Instance{r.instance(ids[0]), r.instance(ids[1])}
	unknown := uuid.New()
	got := r.cancel("first", append([]uuid.UUID{unknown, ids[2]}, ids[:5]...)...)
	if got[0].Status != "" {
		r.Errorf("an unknown instance is %s", describe(got[0]))
	}
	for i := range before {
		if !same(got[2+i], before[i]) || !same(r.instance(ids[i]), before[i]) {
			r.Errorf("an instance that had ended as %s is %s", describe(before[i]), describe(got[2+i]))
		}
	}
	for _, at := range []int{1, 4, 5, 6} {
		r.canceled(got[at], "first")
	}
	for _, inst := range r.cancel("second", ids[2:5]...) {
		r.canceled(inst, "first")
	}
	for _, id := range ids[5:] {
		r.applied(grant(0), done(tasks[id], `1`))
		r.completed(id, `1`)
	}
	if none, err := r.canceler().Cancel(r.ctx, nil, "nobody"); err != nil || len(none) > 0 {
		r.Errorf("Cancel of nothing: %v, %v", none, err)
	}
	r.clean()
}

func cancelRace(r *rig) {
	w := mixture
	p := w.Program(r)
	subs := make([]backend.Submission, 24)
	ids := make([]uuid.UUID, len(subs))
	for i := range subs {
		subs[i] = submission(p, w.Input)
		ids[i] = subs[i].ID
	}
	answers := make([][]backend.Instance, 2)
	var wg sync.WaitGroup
	for c, b := range []backend.Backend{r.b, r.reopen()} {
		wg.Go(func() {
			for len(answers[c]) < len(ids)/2 && r.ctx.Err() == nil {
				id := ids[len(answers[c])*2]
				got, err := b.(backend.Canceler).Cancel(r.ctx, []uuid.UUID{id}, fmt.Sprint(c))
				switch {
				case err != nil:
					r.Errorf("Cancel: %v", err)
					return
				case got[0].Status == "", got[0].Status == backend.Running: // not submitted before the call
					timer := time.NewTimer(time.Millisecond)
					<-timer.C
				default:
					answers[c] = append(answers[c], got[0])
				}
			}
		})
	}
	rec, err := Drive(r.ctx, r.b, subs, DriveConfig{Workers: 3, Seed: 17, Advance: r.Advance})
	wg.Wait()
	if err != nil {
		r.Fatal(err)
	}
	for i := range answers[0] {
		id := ids[i*2]
		if end := rec.Instances[id]; !same(answers[0][i], end) || !same(answers[1][i], end) {
			r.Errorf("I7: instance %s ended as %s, and was reported to have ended as %s and as %s",
				id, describe(end), describe(answers[0][i]), describe(answers[1][i]))
		}
	}
	for i := 1; i < len(ids); i += 2 {
		if err := w.Expect(rec.Instances[ids[i]]); err != nil {
			r.Error(err)
		}
	}
	r.clean()
}

func cancelCut(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	dead, cancel := context.WithCancel(r.ctx)
	cancel()
	if _, err := r.canceler().Cancel(dead, []uuid.UUID{task.Lease.Key.Instance}, "no"); err == nil {
		r.Error("Cancel did not mind a dead context")
	}
	r.applied(grant(0), done(task, `1`))
	r.completed(task.Lease.Key.Instance, `1`)
}
