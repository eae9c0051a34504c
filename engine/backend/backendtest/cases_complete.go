package backendtest

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

var completeCases = []testCase{
	{name: "complete/applied", run: completeApplied},
	{name: "complete/nothing", run: completeNothing},
	{name: "complete/grant", run: completeGrant},
	{name: "complete/wrong token", run: completeWrongToken},
	{name: "complete/unknown", shards: 2, run: completeUnknown},
	{name: "complete/repeated", run: completeRepeated},
	{name: "complete/twice in one batch", run: completeDuplicates},
	{name: "complete/reclaimed by another", run: completeReclaimed},
	{name: "complete/expired and not reclaimed", run: completeLate},
	{name: "complete/mixed batch", run: completeMixed},
	{name: "complete/two open a barrier", run: completeBarrier},
	{name: "complete/element order", run: completeOrder},
	{name: "complete/ended instance", run: completeEnded},
	{name: "complete/end within a batch", run: completeEndInBatch},
	{name: "complete/attempts count", run: completeAttempts},
	{name: "complete/result that is no value", run: completeBadResult},
	{name: "complete/concurrent offers of one lease", run: completeRace},
	{name: "complete/concurrent batches", run: completeBatches},
}

func completeApplied(r *rig) {
	task := r.submitOne(chain, `{"v": 4}`, grant(1))
	out := r.applied(grant(1), done(task, `4`))
	if len(out.Tasks) != 1 || len(out.Ended) != 0 {
		r.Fatalf("%d tasks and %d ends; want the next task", len(out.Tasks), len(out.Ended))
	}
	next := out.Tasks[0]
	if next.Action != "double" || compact(next.Args) != `{"value":4}` || next.Attempt != 1 {
		r.Fatalf("next is %+v; want double(value=4)", next)
	}
	out = r.applied(grant(1), done(next, `8`))
	if len(out.Tasks) != 0 || len(out.Ended) != 1 || out.More {
		r.Fatalf("the end brought %d tasks, %d ends, More %t", len(out.Tasks), len(out.Ended), out.More)
	}
	if got := r.instance(task.Lease.Key.Instance); !same(got, out.Ended[0]) || got.ID != out.Ended[0].ID {
		r.Errorf("ended as %s, reads as %s", describe(out.Ended[0]), describe(got))
	}
	r.completed(task.Lease.Key.Instance, `8`)
	r.clean()
}

func completeNothing(r *rig) {
	r.launch(single, `{"v": 0}`, grant(0))
	if out := r.complete(grant(0)); len(out.Tasks) != 0 || len(out.Ended) != 0 {
		r.Errorf("an empty batch gave %+v", out)
	}
}

func completeGrant(r *rig) {
	task := r.submitOne(`
fn main(input: [], output: [r]):
    xs = @items(count=9)
    r = spread xs:x -> @double(value=x)
`, `{}`, grant(1))
	out := r.applied(grant(4), done(task, `[0, 1, 2, 3, 4, 5, 6, 7, 8]`))
	if len(out.Tasks) < 9 && !out.More {
		r.Error("node runs are ready and not leased, and More is false")
	}
	seen := map[backend.Key]bool{}
	r.distinct(seen, out.Tasks)
	r.distinct(seen, r.claim(0, grant(20)).Tasks)
	if len(seen) != 9 {
		r.Errorf("%d node runs were handed out; want 9", len(seen))
	}
}

func completeWrongToken(r *rig) {
	task := r.submitOne(chain, `{"v": 1}`, grant(1))
	for _, token := range []int64{task.Lease.Token + 1, task.Lease.Token - 1, 0, -1} {
		forged := done(task, `666`)
		forged.Lease.Token = token
		out := r.complete(grant(5), forged)
		r.answers(out, backend.Stale)
		if len(out.Tasks) > 0 {
			r.Fatalf("a stale completion made %d node runs ready", len(out.Tasks))
		}
	}
	out := r.applied(grant(1), done(task, `1`))
	r.applied(grant(1), done(out.Tasks[0], `2`))
	r.completed(task.Lease.Key.Instance, `2`)
}

func completeUnknown(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	stranger := done(task, `1`)
	stranger.Lease.Key.Instance = uuid.New()
	r.answers(r.complete(grant(1), stranger), backend.Stale)
	wrongRun := done(task, `1`)
	wrongRun.Lease.Key.Run.Path = "0.5"
	r.answers(r.complete(grant(1), wrongRun), backend.Stale)
	wrongNode := done(task, `1`)
	wrongNode.Lease.Key.Run.Node = 9999
	r.answers(r.complete(grant(1), wrongNode), backend.Stale)
	elsewhere := 1 - backend.ShardOf(task.Lease.Key.Instance, r.shards)
	out, err := r.b.Complete(r.ctx, elsewhere, []backend.Completion{done(task, `1`)}, grant(1))
	if err != nil {
		r.Fatalf("Complete: %v", err)
	}
	r.answers(out, backend.Stale)
	r.applied(grant(1), done(task, `1`))
}

func completeRepeated(r *rig) {
	task := r.submitOne(chain, `{"v": 1}`, grant(1))
	out := r.applied(grant(1), done(task, `1`))
	for _, c := range []backend.Completion{done(task, `1`), done(task, `2`), failed(task, "Late")} {
		again := r.complete(grant(5), c)
		r.answers(again, backend.Stale)
		if len(again.Tasks) > 0 || len(again.Ended) > 0 {
			r.Fatalf("a repeated completion changed something: %+v", again)
		}
	}
	r.applied(grant(1), done(out.Tasks[0], `2`))
	r.completed(task.Lease.Key.Instance, `2`)
}

func completeDuplicates(r *rig) {
	task := r.submitOne(chain, `{"v": 1}`, grant(1))
	out := r.complete(grant(5), done(task, `1`), done(task, `7`))
	applied, stale := 0, 0
	for _, o := range out.Outcomes {
		switch o.Answer {
		case backend.Applied:
			applied++
		case backend.Stale:
			stale++
		}
	}
	if applied != 1 || stale != 1 || len(out.Tasks) != 1 {
		r.Fatalf("%d applied, %d stale, %d tasks; want one of each", applied, stale, len(out.Tasks))
	}
}

func completeReclaimed(r *rig) {
	task := r.submitOne(chain, `{"v": 1}`, brief(1))
	again := r.eventually(grant(1))[0]
	out := r.complete(grant(5), done(task, `666`))
	r.answers(out, backend.Stale)
	out = r.applied(grant(1), done(again, `1`))
	r.answers(r.complete(grant(5), failed(task, "Late")), backend.Stale)
	r.applied(grant(1), done(out.Tasks[0], `2`))
	r.completed(task.Lease.Key.Instance, `2`)
}

// completeLate completes after the lease has certainly expired, before any other claim: the token is still current.
func completeLate(r *rig) {
	late := r.submitOne(single, `{"v": 1}`, brief(1))
	witness := r.submitOne(single, `{"v": 2}`, brief(1)) // leased later, so it expires later
	both := map[backend.Key]bool{late.Lease.Key: true, witness.Lease.Key: true}
	if r.Advance != nil {
		r.Advance(2 * shortLease)
	}
	expired := r.eventually(grant(1))
	if !both[expired[0].Lease.Key] {
		r.Fatalf("%v came; want one of the two that were leased", expired[0].Lease.Key)
	}
	left := late
	if expired[0].Lease.Key == late.Lease.Key {
		left = witness
	}
	r.applied(grant(0), done(left, `1`))
	r.completed(left.Lease.Key.Instance, `1`)
}

// completeMixed checks that every member of a batch is answered alone (I12).
func completeMixed(r *rig) {
	p := MustCompile(r, chain)
	subs := make([]backend.Submission, 7)
	for i := range subs {
		subs[i] = submission(p, fmt.Sprintf(`{"v": %d}`, i))
	}
	tasks := map[uuid.UUID]backend.Task{}
	for _, t := range r.submit(grant(7), subs...).Tasks {
		tasks[t.Lease.Key.Instance] = t
	}
	if len(tasks) != 7 {
		r.Fatalf("%d tasks; want 7", len(tasks))
	}
	of := func(i int) backend.Task { return tasks[subs[i].ID] }
	stale := done(of(1), `666`)
	stale.Lease.Token += 1000
	other := done(of(3), `3`)
	other.Program = MustCompile(r, "fn main(input: [], output: []):\n    pass\n")
	without := done(of(5), `5`)
	without.Program = nil
	batch := []backend.Completion{done(of(0), `0`), stale, done(of(2), `2`), other, failed(of(4), "Bad"), without, done(of(6), `6`)}
	out := r.complete(grant(10), batch...)
	r.answers(out, backend.Applied, backend.Stale, backend.Applied, backend.Refused, backend.Applied, backend.Refused, backend.Applied)
	if len(out.Tasks) != 3 || len(out.Ended) != 1 || out.Ended[0].ID != subs[4].ID {
		r.Fatalf("%d tasks and ends %v; want three tasks and the end of the one that failed", len(out.Tasks), out.Ended)
	}
	if f := out.Ended[0].Failure; f == nil || f.Type != "Bad" || f.Action != "echo" || f.Pos.Line == 0 {
		r.Errorf("the failure is %+v; want Bad of echo, with its place", f)
	}
	for _, i := range []int{1, 3, 5} {
		again := r.applied(grant(1), done(of(i), `1`))
		if len(again.Tasks) != 1 {
			r.Errorf("a member that was not applied changed its instance: %d tasks", len(again.Tasks))
		}
	}
}

func completeBarrier(r *rig) {
	id, tasks := r.several(`
fn main(input: [], output: [s]):
    a, b = parallel:
        @double(value=1)
        @double(value=2)
    s = @sum(values=[a, b])
`, `{}`, 2)
	out := r.applied(grant(4), done(tasks[1], `4`), done(tasks[0], `2`))
	if len(out.Tasks) != 1 || len(out.Ended) != 0 {
		r.Fatalf("%d tasks and %d ends; want what comes after the barrier, once", len(out.Tasks), len(out.Ended))
	}
	want := fmt.Sprintf(`{"values":[%s]}`, "2,4")
	if tasks[0].Lease.Key.Run.Node > tasks[1].Lease.Key.Run.Node {
		want = `{"values":[4,2]}`
	}
	if got := compact(out.Tasks[0].Args); got != want {
		r.Errorf("arguments %s; want %s", got, want)
	}
	r.applied(grant(4), done(out.Tasks[0], `6`))
	r.completed(id, `6`)
	r.clean()
}

func completeOrder(r *rig) {
	id, tasks := r.several(fan, `{"n": 12}`, 12)
	for i := len(tasks) - 1; i >= 0; i-- {
		t := tasks[i]
		c := done(t, fmt.Sprint(100+t.Lease.Key.Run.Path.Last()))
		out := r.applied(grant(1), c)
		overwrite(c.Result)
		if over := len(out.Ended) > 0; over != (i == 0) {
			r.Fatalf("after %d of 12 elements the instance has ended: %t", 12-i, over)
		}
	}
	r.completed(id, "["+join(12, func(i int) int { return 100 + i })+"]")
	r.clean()
}

// completeEnded checks that an instance's end makes all its other leases stale, and leaves nothing.
func completeEnded(r *rig) {
	id, tasks := r.several(fan, `{"n": 6}`, 4)
	r.applied(grant(0), done(tasks[0], `1`))
	out := r.applied(grant(4), failed(tasks[1], "Bad"))
	if len(out.Tasks) != 0 || len(out.Ended) != 1 || out.Ended[0].ID != id || out.Ended[0].Status != backend.Failed {
		r.Fatalf("%d tasks, ends %+v; want the instance failed", len(out.Tasks), out.Ended)
	}
	out = r.complete(grant(4), done(tasks[2], `1`), failed(tasks[3], "Worse"), done(tasks[0], `1`))
	r.answers(out, backend.Stale, backend.Stale, backend.Stale)
	if out := r.claim(0, grant(10)); len(out.Tasks) != 0 {
		r.Errorf("%d node runs of an ended instance were handed out", len(out.Tasks))
	}
	r.clean()
	if got := r.instance(id); got.Status != backend.Failed || got.Failure == nil || got.Failure.Type != "Bad" {
		r.Errorf("instance %s; want the first failure", describe(got))
	}
	r.answers(r.complete(grant(4), done(tasks[2], `1`)), backend.Stale)
}

// completeEndInBatch checks that members after the one that ends their instance are stale, that those before it are applied, and
// that other instances are untouched.
func completeEndInBatch(r *rig) {
	_, tasks := r.several(fan, `{"n": 3}`, 3)
	other := r.submitOne(chain, `{"v": 1}`, grant(1))
	out := r.complete(grant(9), failed(tasks[0], "Bad"), done(other, `1`), done(tasks[1], `1`), failed(tasks[2], "Bad"))
	r.answers(out, backend.Applied, backend.Applied, backend.Stale, backend.Stale)
	if len(out.Ended) != 1 || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Instance != other.Lease.Key.Instance {
		r.Errorf("%d ends and tasks %+v; want one end, and the other instance's task", len(out.Ended), out.Tasks)
	}
	r.clean()
}

func completeAttempts(r *rig) {
	task := r.submitOne(`
fn main(input: [], output: [r]):
    r = @flaky(times=9) [Flaky -> retry: 2]
`, `{}`, grant(1))
	for attempt := 1; attempt <= 3; attempt++ {
		if task.Attempt != attempt {
			r.Fatalf("attempt %d came; want %d", task.Attempt, attempt)
		}
		out := r.applied(grant(1), failed(task, "Flaky"))
		if over := len(out.Ended) == 1; over != (attempt == 3) {
			r.Fatalf("after attempt %d the instance has ended: %t", attempt, over)
		}
		if attempt == 3 {
			break
		}
		before := task.Lease.Token
		if len(out.Tasks) == 1 {
			task = out.Tasks[0]
		} else {
			task = r.eventually(grant(1))[0]
		}
		if task.Lease.Token <= before {
			r.Errorf("attempt %d has token %d after %d", task.Attempt, task.Lease.Token, before)
		}
	}
	got := r.instance(task.Lease.Key.Instance)
	if got.Status != backend.Failed || got.Failure == nil || got.Failure.Type != "Flaky" || got.Failure.Message != "made to fail" {
		r.Errorf("instance %s; want the last attempt's failure", describe(got))
	}
	r.clean()
}

// completeBadResult checks that an invalid result becomes a failure of its own instance.
func completeBadResult(r *rig) {
	for _, result := range []string{``, `{"a":`, `nil`, `1 2`, "\"\xff\""} {
		task := r.submitOne(chain, `{"v": 1}`, grant(1))
		r.applied(grant(1), done(task, result))
		got := r.instance(task.Lease.Key.Instance)
		if got.Status != backend.Failed || got.Failure == nil || got.Failure.Type != "ResultError" {
			r.Errorf("result %q: instance %s; want a ResultError", result, describe(got))
		}
	}
}

func completeRace(r *rig) {
	task := r.submitOne(chain, `{"v": 1}`, grant(1))
	backends := []backend.Backend{r.b, r.reopen()}
	const callers = 6
	answers := make([]backend.Answer, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			out, err := r.offer(backends[c%2], grant(0), []backend.Completion{done(task, fmt.Sprint(c))})
			if err != nil {
				r.Errorf("Complete: %v", err)
				return
			}
			answers[c] = out.Outcomes[0].Answer
		})
	}
	wg.Wait()
	winner := -1
	for c, a := range answers {
		switch {
		case a == backend.Applied && winner >= 0:
			r.Fatalf("offers %d and %d were both applied", winner, c)
		case a == backend.Applied:
			winner = c
		case a != backend.Stale:
			r.Errorf("offer %d was answered %q", c, a)
		}
	}
	next := r.claim(0, grant(5)).Tasks
	if len(next) != 1 || compact(next[0].Args) != fmt.Sprintf(`{"value":%d}`, winner) {
		r.Fatalf("next is %+v; want it to hold the result of offer %d", next, winner)
	}
}

func completeBatches(r *rig) {
	id, tasks := r.several(fan, `{"n": 120}`, 120)
	backends := []backend.Backend{r.b, r.reopen()}
	var mu sync.Mutex
	ends := 0
	var wg sync.WaitGroup
	for c := range 6 {
		wg.Go(func() {
			for from := 0; from < 20; from += 5 {
				var batch []backend.Completion
				for k := from; k < from+5; k++ {
					t := tasks[k*6+c]
					batch = append(batch, done(t, fmt.Sprint(t.Lease.Key.Run.Path.Last())))
				}
				out, err := r.offer(backends[c%2], grant(0), batch)
				if err != nil {
					r.Errorf("Complete: %v", err)
					return
				}
				mu.Lock()
				ends += len(out.Ended)
				mu.Unlock()
				for i, o := range out.Outcomes {
					if o.Answer != backend.Applied {
						r.Errorf("element %s was answered %q (%v)", batch[i].Lease.Key.Run.Path, o.Answer, o.Err)
					}
				}
			}
		})
	}
	wg.Wait()
	if ends != 1 {
		r.Errorf("I7: the instance ended %d times", ends)
	}
	r.completed(id, "["+join(120, func(i int) int { return i })+"]")
	r.clean()
}
