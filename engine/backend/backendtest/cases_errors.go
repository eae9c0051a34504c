package backendtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

var errorCases = []testCase{
	{name: "error/siblings are cancelled", run: errorSiblings},
	{name: "error/siblings in one batch", run: errorBatch},
	{name: "error/caught once", run: errorTwice},
	{name: "error/element of a spread", run: errorElement},
	{name: "error/siblings at work elsewhere", run: errorRace},
	{name: "error/the end while siblings are at work", run: errorEnds},
	{name: "error/waiting siblings", run: errorWaiting},
	{name: "error/retries come first", run: errorRetries},
	{name: "timeout/the late end is stale", run: timeoutLate},
	{name: "retry/counted across a crash", run: retryCrash},
}

// caught has three branches, and continues if one of them fails.
const caught = `
fn main(input: [], output: [r]):
    try:
        a, b, c = parallel:
            @echo(value=0)
            @echo(value=1)
            @echo(value=2)
        r = [a, b, c]
    except Bad as e:
        r = @double(value=len(e["type"]))
    r = @noop(last=r)
`

// errorSiblings checks that a caught failure removes queued siblings, and fences running ones.
func errorSiblings(r *rig) {
	id, tasks := r.several(caught, `{}`, 2)
	handler := r.only(r.complete(grant(5), failed(tasks[0], "Bad")), "double")
	if kept := r.renew(grant(0), tasks[1].Lease); kept[0] {
		r.Error("the lease of a node run that was cancelled is held")
	}
	r.answers(r.complete(grant(5), done(tasks[1], `1`), failed(tasks[1], "Bad")), backend.Stale, backend.Stale)
	last := r.only(r.complete(grant(5), done(handler, `6`)), "noop")
	r.answers(r.complete(grant(5), done(tasks[1], `1`)), backend.Stale)
	r.applied(grant(5), done(last, `"end"`))
	r.completed(id, `"end"`)
	r.clean()
}

func errorBatch(r *rig) {
	for fails := range 3 {
		id, tasks := r.several(caught, `{}`, 3)
		batch := []backend.Completion{done(tasks[0], `0`), done(tasks[1], `1`), done(tasks[2], `2`)}
		batch[fails] = failed(tasks[fails], "Bad")
		out := r.complete(grant(5), batch...)
		for i, o := range out.Outcomes {
			if o.Answer != backend.Applied && (i == fails || o.Answer != backend.Stale) {
				r.Fatalf("member %d is %q (%v), where %d fails", i, o.Answer, o.Err, fails)
			}
		}
		handler := r.only(out, "double")
		again := r.complete(grant(5), batch...)
		r.answers(again, backend.Stale, backend.Stale, backend.Stale)
		last := r.only(r.complete(grant(5), done(handler, `6`)), "noop")
		r.applied(grant(5), done(last, `"end"`))
		r.completed(id, `"end"`)
	}
	r.clean()
}

// errorTwice has two siblings fail in one batch, and then three in concurrent calls: one failure is caught. A store that writes
// ends before it plans continuations may apply several.
func errorTwice(r *rig) {
	_, tasks := r.launch(caught, `{}`, grant(3))
	out := r.complete(grant(5), failed(tasks[2], "Bad"), failed(tasks[0], "Bad"))
	answers := []backend.Answer{out.Outcomes[0].Answer, out.Outcomes[1].Answer}
	slices.Sort(answers)
	if answers[0] != backend.Applied || answers[1] != backend.Stale {
		r.Fatalf("the answers are %v; want one applied and one stale", answers)
	}
	r.only(out, "double")

	_, tasks = r.launch(caught, `{}`, grant(3))
	backends := []backend.Backend{r.b, r.reopen(), r.reopen()}
	var mu sync.Mutex
	got := map[backend.Answer]int{}
	var wg sync.WaitGroup
	for i, b := range backends {
		wg.Go(func() {
			out, err := r.offer(b, grant(0), []backend.Completion{failed(tasks[i], "Bad")})
			if err != nil {
				r.Errorf("Complete: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[out.Outcomes[0].Answer]++
		})
	}
	wg.Wait()
	if got[backend.Applied] == 0 || got[backend.Applied]+got[backend.Stale] != len(backends) {
		r.Fatalf("the answers are %v; want one applied, and each of the others applied or stale", got)
	}
	r.only(backend.Committed{}, "double")
}

func errorElement(r *rig) {
	id, tasks := r.several(`
fn one(input: [x], output: [y]):
    try:
        y = parallel:
            @echo(value=x)
            @double(value=x)
    except:
        y = "caught"

fn main(input: [], output: [r]):
    r = spread range(3):x -> one(x=x)
`, `{}`, 6)
	of := map[string]backend.Task{}
	for _, t := range tasks {
		of[fmt.Sprintf("%s %s", t.Action, t.Lease.Key.Run.Path.Cut(1))] = t
	}
	r.applied(grant(5), done(of["echo 2"], `2`), failed(of["double 1"], "Bad"))
	r.answers(r.complete(grant(5), done(of["echo 0"], `0`), done(of["echo 1"], `1`)), backend.Applied, backend.Stale)
	r.applied(grant(5), done(of["double 2"], `4`), done(of["double 0"], `0`))
	r.completed(id, `[[0,0],"caught",[2,4]]`)
	r.clean()
}

// errorRace fails one branch of many instances while another process completes the others: whatever those make ready must be
// cancelled.
func errorRace(r *rig) {
	const instances = 16
	r.race(`
fn two(input: [x], output: [y]):
    y = @echo(value=x)
    ys = spread range(3):i -> @echo(value=y)
    y = @sum(values=ys)

fn main(input: [], output: [r]):
    try:
        r = parallel:
            @add(a=1, b=1)
            two(x=1)
            two(x=2)
            two(x=3)
    except Bad as e:
        r = @double(value=len(e["type"]))
`, instances)
	handlers := r.claim(0, grant(100)).Tasks
	for _, t := range handlers {
		if t.Action != "double" {
			r.Errorf("I10: %+v was handed out; it was cancelled", t.Lease.Key)
		}
	}
	if len(handlers) != instances {
		r.Fatalf("%d node runs are ready; want the handlers of %d instances", len(handlers), instances)
	}
	for _, t := range handlers {
		r.applied(grant(100), done(t, `1`))
		r.completed(t.Lease.Key.Instance, `1`)
	}
	r.clean()
}

// errorEnds is errorRace with an empty handler, so that the instance ends with the failure.
func errorEnds(r *rig) {
	ids := r.race(`
fn two(input: [x], output: [y]):
    y = @echo(value=x)
    y = @sum(values=[y])

fn main(input: [], output: [r]):
    try:
        r = parallel:
            @add(a=1, b=1)
            two(x=1)
            two(x=2)
    except:
        r = "caught"
`, 16)
	for _, id := range ids {
		r.completed(id, `"caught"`)
	}
	if out := r.claim(0, grant(100)); len(out.Tasks) > 0 {
		r.Errorf("I10: %+v was handed out after the end", out.Tasks)
	}
	r.clean()
}

// race starts instances, makes the action add of each fail, and completes everything else that is ready concurrently from another
// process, one instance a call. It returns the instances.
func (r *rig) race(src string, instances int) []uuid.UUID {
	r.Helper()
	p := MustCompile(r, src)
	subs := make([]backend.Submission, instances)
	ids := make([]uuid.UUID, instances)
	for i := range subs {
		subs[i] = submission(p, `{}`)
		ids[i] = subs[i].ID
	}
	fails, ends := map[uuid.UUID][]backend.Completion{}, map[uuid.UUID][]backend.Completion{}
	for _, t := range r.submit(grant(1000), subs...).Tasks {
		if id := t.Lease.Key.Instance; t.Action == "add" {
			fails[id] = append(fails[id], failed(t, "Bad"))
		} else {
			ends[id] = append(ends[id], done(t, `1`))
		}
	}
	other := r.reopen()
	var wg sync.WaitGroup
	wg.Go(func() { r.offerEach(r.b, ids, fails, backend.Applied) })
	wg.Go(func() { r.offerEach(other, ids, ends, backend.Applied, backend.Stale) })
	wg.Wait()
	return ids
}

// offerEach completes one instance after the other, and checks that each answer is one of want.
func (r *rig) offerEach(b backend.Backend, ids []uuid.UUID, batches map[uuid.UUID][]backend.Completion, want ...backend.Answer) {
	for _, id := range ids {
		out, err := r.offer(b, grant(0), batches[id])
		if err != nil {
			r.Errorf("Complete: %v", err)
			return
		}
		for _, o := range out.Outcomes {
			if !slices.Contains(want, o.Answer) {
				r.Errorf("a completion was answered %q (%v); want one of %v", o.Answer, o.Err, want)
			}
		}
	}
}

func errorWaiting(r *rig) {
	id, tasks := r.launch(`
fn nap(input: [], output: []):
    sleep 0.02

fn main(input: [], output: [r]):
    r = ""
    try:
        r = parallel:
            nap()
            @flaky(times=9) [retry: 9, backoff: 20ms]
            @echo(value=1)
    except Bad:
        r = @noop()
`, `{}`, grant(2))
	of := map[string]backend.Task{}
	for _, t := range tasks {
		of[t.Action] = t
	}
	r.applied(grant(0), failed(of["flaky"], "Flaky"))
	handler := r.only(r.complete(grant(5), failed(of["echo"], "Bad")), "noop")
	if r.Advance != nil {
		r.Advance(time.Minute)
		if out := r.claim(0, grant(5)); len(out.Tasks) > 0 {
			r.Fatalf("%+v came; it was cancelled", out.Tasks)
		}
	}
	r.applied(grant(5), done(handler, `"end"`))
	r.completed(id, `"end"`)
	r.clean()
}

func errorRetries(r *rig) {
	id, tasks := r.launch(`
fn main(input: [], output: [r]):
    try:
        r = @flaky(times=9) [Flaky -> retry: 1]
    except Other:
        r = "wrong"
    except Flaky as e:
        r = @echo(value=e)
`, `{}`, grant(1))
	second := r.only(r.complete(grant(1), failed(tasks[0], "Flaky")), "flaky")
	if second.Attempt != 2 {
		r.Fatalf("attempt %d came; want 2", second.Attempt)
	}
	handler := r.only(r.complete(grant(1), failed(second, "Flaky")), "echo")
	if got, want := compact(handler.Args), `{"value":{"type":"Flaky","message":"made to fail","action":"flaky"}}`; got != want {
		r.Errorf("the error is %s; want %s", got, want)
	}
	r.applied(grant(1), done(handler, `1`))
	r.completed(id, `1`)
	r.clean()
}

// timeoutLate has an attempt end by timeout, and then also return: once when it is retried, and once when the timeout is caught.
func timeoutLate(r *rig) {
	id, tasks := r.launch(`
fn main(input: [], output: [r]):
    try:
        r = @echo(value=1) [retry: 1] [timeout: 1s]
    except Timeout as e:
        r = @echo(value=e["type"])
`, `{}`, grant(1))
	first := tasks[0]
	second := r.only(r.complete(grant(1), failed(first, "Timeout")), "echo")
	r.answers(r.complete(grant(1), done(first, `666`)), backend.Stale)
	handler := r.only(r.complete(grant(1), failed(second, "Timeout")), "echo")
	r.answers(r.complete(grant(1), done(first, `666`), done(second, `666`)), backend.Stale, backend.Stale)
	if got := compact(handler.Args); got != `{"value":"Timeout"}` {
		r.Errorf("the handler got %s", got)
	}
	r.applied(grant(1), done(handler, `1`))
	r.completed(id, `1`)
	r.clean()
}

// retryCrash loses the process in every attempt but the last: a lost lease is no failure, and no failure may be forgotten.
func retryCrash(r *rig) {
	task := r.submitOne(`
fn main(input: [], output: [r]):
    r = @flaky(times=9) [retry: 2, backoff: 1ms]
`, `{}`, brief(1))
	for attempt := 1; attempt <= 3; attempt++ {
		for range 2 {
			if task.Attempt != attempt {
				r.Fatalf("attempt %d came; want %d", task.Attempt, attempt)
			}
			r.b.Close()
			r.b = r.reopen()
			again := r.eventually(brief(1))[0]
			if again.Lease.Token <= task.Lease.Token {
				r.Errorf("attempt %d has token %d after %d", attempt, again.Lease.Token, task.Lease.Token)
			}
			task = again
		}
		task = r.holding(task)
		out := r.applied(grant(0), failed(task, "Flaky"))
		if over := len(out.Ended) == 1; over != (attempt == 3) {
			r.Fatalf("after attempt %d the instance has ended: %t", attempt, over)
		}
		if attempt < 3 {
			task = r.eventually(brief(1))[0]
		}
	}
	r.clean()
}

func (r *rig) holding(task backend.Task) backend.Task {
	r.Helper()
	if r.renew(grant(0), task.Lease)[0] {
		return task
	}
	return r.eventually(grant(1))[0]
}
