package backendtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// Programs of the cases. fan makes n runs ready at once.
const (
	single = `
fn main(input: [v], output: [r]):
    r = @echo(value=v)
`
	chain = `
fn main(input: [v], output: [r]):
    a = @echo(value=v)
    r = @double(value=a)
`
	fan = `
fn main(input: [n], output: [r]):
    r = spread range(n):i -> @double(value=i)
`
)

var submitCases = []testCase{
	{name: "submit/applied", run: submitApplied},
	{name: "submit/duplicate", run: submitDuplicate},
	{name: "submit/duplicate in one call", run: submitDuplicates},
	{name: "submit/duplicate of an ended instance", run: submitAgain},
	{name: "submit/refused input", run: submitRefused},
	{name: "submit/nothing", run: submitNothing},
	{name: "submit/ends at once", run: func(r *rig) { submitEnds(r, grant(3)) }},
	{name: "submit/ends at once, of one who wants no tasks", run: func(r *rig) { submitEnds(r, backend.Grant{}) }},
	{name: "submit/grant is a maximum", run: submitGrant},
	{name: "submit/concurrent duplicates", run: submitRace},
	{name: "submit/shards", shards: 4, run: submitShards},
	{name: "submit/the caller's bytes stay the caller's", run: submitBytes},
}

func submitApplied(r *rig) {
	p := MustCompile(r, single)
	sub := submission(p, `{"v": {"x": [1, 2.5]}}`)
	out := r.submit(grant(4), sub)
	r.answers(out, backend.Applied)
	if len(out.Tasks) != 1 || len(out.Ended) != 0 {
		r.Fatalf("%d tasks and %d ends; want one task", len(out.Tasks), len(out.Ended))
	}
	task := out.Tasks[0]
	if task.Lease.Key.Instance != sub.ID || task.Action != "echo" || task.Attempt != 1 || task.Lease.Token == 0 {
		r.Errorf("task %+v; want the first attempt of echo for %s, with a token", task, sub.ID)
	}
	if want := `{"value":{"x":[1,2.5]}}`; compact(task.Args) != want {
		r.Errorf("arguments %s; want %s", task.Args, want)
	}
	if task.Program == nil || task.Program.Hash() != p.Hash() {
		r.Error("the task does not carry its program")
	}
	if task.Expires.IsZero() {
		r.Error("the task has no expiry")
	}
	if got := r.instance(sub.ID); got.Status != backend.Running || got.Result != nil || got.Failure != nil {
		r.Errorf("instance %s; want it running", describe(got))
	}
}

func submitDuplicate(r *rig) {
	sub := submission(MustCompile(r, single), `{"v": 1}`)
	r.answers(r.submit(grant(0), sub), backend.Applied)
	again := sub
	again.Input = json.RawMessage(`{"v": 2}`)
	out := r.submit(grant(4), again)
	r.answers(out, backend.Duplicate)
	tasks := append(out.Tasks, r.claim(0, grant(4)).Tasks...)
	if len(tasks) != 1 || compact(tasks[0].Args) != `{"value":1}` {
		r.Fatalf("tasks %+v; want the one of the first submission", tasks)
	}
}

func submitDuplicates(r *rig) {
	p := MustCompile(r, single)
	sub, other := submission(p, `{"v": 1}`), submission(p, `{"v": 2}`)
	out := r.submit(grant(8), sub, other, sub)
	r.answers(out, backend.Applied, backend.Applied, backend.Duplicate)
	if len(out.Tasks) != 2 {
		r.Fatalf("%d tasks; want one for each of two instances", len(out.Tasks))
	}
}

func submitAgain(r *rig) {
	sub := submission(MustCompile(r, single), `{"v": 1}`)
	out := r.submit(grant(1), sub)
	r.applied(grant(1), done(out.Tasks[0], `"end"`))
	r.clean()
	out = r.submit(grant(1), sub)
	r.answers(out, backend.Duplicate)
	if len(out.Tasks) != 0 {
		r.Errorf("an ended instance came back to life")
	}
	r.completed(sub.ID, `"end"`)
}

func submitRefused(r *rig) {
	p := MustCompile(r, single)
	good := submission(p, `{"v": 1}`)
	subs := []backend.Submission{good}
	want := []backend.Answer{backend.Applied}
	for _, input := range []string{`{}`, `{"v": 1, "w": 2}`, `[]`, `{"v": `, ``} {
		subs = append(subs, submission(p, input))
		want = append(want, backend.Refused)
	}
	out := r.submit(grant(9), subs...)
	r.answers(out, want...)
	if len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Instance != good.ID {
		r.Errorf("tasks %+v; want one, of the good submission", out.Tasks)
	}
	for _, s := range subs[1:] {
		if got := r.instance(s.ID); got.Status != "" {
			r.Errorf("input %s was refused, and the instance is %s", s.Input, describe(got))
		}
	}
	again := subs[1]
	again.Input = good.Input
	r.answers(r.submit(grant(9), again), backend.Applied)
}

func submitNothing(r *rig) {
	out := r.submit(grant(3))
	if len(out.Tasks) != 0 || len(out.Ended) != 0 {
		r.Errorf("nothing was submitted, and %+v came back", out)
	}
}

func submitEnds(r *rig, g backend.Grant) {
	ok := submission(MustCompile(r, `
fn main(input: [n], output: [m]):
    m = n + 1
`), `{"n": 41}`)
	bad := submission(MustCompile(r, `
fn main(input: [n], output: [m]):
    m = n // 0
`), `{"n": 41}`)
	out := r.submit(g, ok, bad)
	r.answers(out, backend.Applied, backend.Applied)
	if len(out.Tasks) != 0 || len(out.Ended) != 2 {
		r.Fatalf("%d tasks and %d ends; want two ends", len(out.Tasks), len(out.Ended))
	}
	for _, inst := range out.Ended {
		if got := r.instance(inst.ID); !same(got, inst) {
			r.Errorf("ended as %s, reads as %s", describe(inst), describe(got))
		}
	}
	r.completed(ok.ID, `42`)
	if got := r.instance(bad.ID); got.Status != backend.Failed || got.Failure == nil || got.Failure.Type != "ExpressionError" {
		r.Errorf("instance %s; want an ExpressionError", describe(got))
	}
	r.clean()
}

func submitGrant(r *rig) {
	sub := submission(MustCompile(r, fan), `{"n": 10}`)
	out := r.submit(grant(4), sub)
	r.answers(out, backend.Applied)
	if len(out.Tasks) > 0 && !out.More {
		r.Error("six node runs are ready and not leased, and More is false")
	}
	seen := map[backend.Key]bool{}
	r.distinct(seen, out.Tasks)
	for len(seen) < 10 {
		out := r.claim(0, grant(4))
		if len(out.Tasks) == 0 {
			r.Fatalf("%d of 10 node runs were handed out, and no more come", len(seen))
		}
		r.distinct(seen, out.Tasks)
	}
	if out := r.claim(0, grant(4)); len(out.Tasks) > 0 || out.More {
		r.Errorf("all is leased, and %d tasks came; More is %t", len(out.Tasks), out.More)
	}
}

func (r *rig) distinct(seen map[backend.Key]bool, tasks []backend.Task) {
	r.Helper()
	for _, t := range tasks {
		if seen[t.Lease.Key] {
			r.Fatalf("%v was handed out twice", t.Lease.Key)
		}
		seen[t.Lease.Key] = true
	}
}

func submitRace(r *rig) {
	p := MustCompile(r, single)
	subs := make([]backend.Submission, 8)
	for i := range subs {
		subs[i] = submission(p, fmt.Sprintf(`{"v": %d}`, i))
	}
	const callers = 6
	outs := make([]backend.Committed, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			outs[c], errs[c] = insist(subs, grant(100), func(subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
				return r.b.Submit(r.ctx, subs, g)
			})
		})
	}
	wg.Wait()
	seen := map[backend.Key]bool{}
	applied := map[uuid.UUID]int{}
	for c, out := range outs {
		if errs[c] != nil {
			r.Fatalf("Submit: %v", errs[c])
		}
		r.distinct(seen, out.Tasks)
		for i, o := range out.Outcomes {
			if o.Answer == backend.Applied {
				applied[subs[i].ID]++
			}
		}
	}
	r.distinct(seen, r.claim(0, grant(100)).Tasks)
	for _, s := range subs {
		if applied[s.ID] != 1 {
			r.Errorf("instance %s was applied %d times", s.ID, applied[s.ID])
		}
	}
	if len(seen) != len(subs) {
		r.Errorf("%d tasks for %d instances", len(seen), len(subs))
	}
}

func submitShards(r *rig) {
	p := MustCompile(r, single)
	subs := make([]backend.Submission, 40)
	perShard := make([]int, r.shards)
	for i := range subs {
		subs[i] = submission(p, `{"v": 0}`)
		perShard[backend.ShardOf(subs[i].ID, r.shards)]++
	}
	r.submit(grant(0), subs...)
	for shard, want := range perShard {
		tasks := r.claim(shard, grant(100)).Tasks
		if len(tasks) != want {
			r.Errorf("shard %d handed out %d tasks; want %d", shard, len(tasks), want)
		}
		for _, task := range tasks {
			if got := backend.ShardOf(task.Lease.Key.Instance, r.shards); got != shard {
				r.Errorf("shard %d handed out a task of shard %d", shard, got)
			}
		}
	}
}

func submitBytes(r *rig) {
	input := json.RawMessage(`{"v": "mine"}`)
	sub := submission(MustCompile(r, `
fn main(input: [v], output: [r]):
    big = @echo(value=v)
    r = @echo(value=big)
`), "")
	sub.Input = input
	r.submit(grant(0), sub)
	overwrite(input)
	task := r.claim(0, grant(1)).Tasks[0]
	if got := compact(task.Args); got != `{"value":"mine"}` {
		r.Fatalf("arguments %s: the store kept the caller's bytes", got)
	}
	large := `"` + strings.Repeat("x", 1<<16) + `"` // large enough to be passed by reference
	c := done(task, large)
	r.applied(grant(0), c)
	overwrite(c.Result)
	next := r.claim(0, grant(1)).Tasks[0]
	if got := compact(next.Args); got != `{"value":`+large+`}` {
		r.Fatalf("arguments %s: the store kept the caller's bytes", short(next.Args))
	}
	c = done(next, `"end"`)
	out := r.applied(grant(0), c)
	overwrite(c.Result)
	overwrite(out.Ended[0].Result)
	overwrite(r.instance(sub.ID).Result)
	r.completed(sub.ID, `"end"`)
}

func overwrite(v json.RawMessage) {
	for i := range v {
		v[i] = '!'
	}
}
