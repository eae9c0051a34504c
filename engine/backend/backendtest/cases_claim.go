package backendtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

var claimCases = []testCase{
	{name: "claim/empty", run: claimEmpty},
	{name: "claim/maximum and order", run: claimOrder},
	{name: "claim/priority", run: claimPriority},
	{name: "claim/turns of workflows", run: claimTurnsOfWorkflows},
	{name: "claim/turns of more workflows than are claimed", run: claimTurnsOfManyWorkflows},
	{name: "claim/turns of instances", run: claimTurnsOfInstances},
	{name: "claim/turns of more instances than are claimed", run: claimTurnsOfManyInstances},
	{name: "claim/turns of instances of all workflows", run: claimTurnsOfAllInstances},
	{name: "claim/turns of retries", run: claimTurnsOfRetries},
	{name: "claim/none wanted", run: claimNone},
	{name: "claim/concurrent claimers share", run: claimRace},
	{name: "claim/expired lease", run: claimExpired},
	{name: "claim/tokens grow", run: claimTokens},
	{name: "claim/retry is due", run: claimRetry},
}

func compact(v json.RawMessage) string {
	var buf bytes.Buffer
	if err := json.Compact(&buf, v); err != nil {
		return fmt.Sprintf("%s (%v)", v, err)
	}
	return buf.String()
}

func claimEmpty(r *rig) {
	if out := r.claim(0, grant(5)); len(out.Tasks) > 0 || out.More || !out.NextDue.IsZero() {
		r.Errorf("an empty store gave %+v", out)
	}
}

func claimOrder(r *rig) {
	p := MustCompile(r, single)
	var want []uuid.UUID
	for range 9 {
		sub := submission(p, `{"v": 0}`)
		want = append(want, sub.ID)
		r.submit(grant(0), sub)
	}
	var got []uuid.UUID
	for len(got) < len(want) {
		out := r.claim(0, grant(4))
		if len(out.Tasks) == 0 {
			r.Fatalf("%d of %d tasks came", len(got), len(want))
		}
		if rest := len(want) - len(got) - len(out.Tasks); rest > 0 && !out.More {
			r.Errorf("%d more are ready, and More is false", rest)
		}
		for _, t := range out.Tasks {
			got = append(got, t.Lease.Key.Instance)
		}
	}
	for i := range want {
		if got[i] != want[i] {
			r.Fatalf("task %d is of instance %s; want %s, which was ready before", i, got[i], want[i])
		}
	}
}

// claimPriority checks the order of backends that have priorities: urgent node runs first, also those of a step that became ready late, and
// others after them in order; what waits longer than its priority is worth passes it.
func claimPriority(r *rig) {
	if _, ok := r.b.(backend.Prioritizer); !ok {
		return
	}
	p := MustCompile(r, chain)
	submit := func(priority int) uuid.UUID {
		program, err := p.WithPriority(priority)
		if err != nil {
			r.Fatal(err)
		}
		sub := submission(program, `{"v": 0}`)
		if out := r.submit(backend.Grant{Owner: "engine", Max: 1, Lease: longLease, Priority: 9}, sub); priority < 9 && (len(out.Tasks) > 0 || !out.More) {
			r.Fatalf("an instance of priority %d was leased at once, or More is false: %+v", priority, out)
		}
		return sub.ID
	}
	claimed := func(want uuid.UUID) backend.Task {
		out := r.claim(0, grant(1))
		if len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Instance != want {
			r.Fatalf("claimed %+v, want one of %s", out.Tasks, want)
		}
		return out.Tasks[0]
	}
	usual, more := submit(0), submit(0)
	little, urgent, again := submit(1), submit(8), submit(8)
	task := claimed(urgent)
	if task.Program.Priority() != 8 {
		r.Errorf("the program of the task has the priority %d, want 8", task.Program.Priority())
	}
	if out := r.applied(backend.Grant{Owner: "engine", Max: 1, Lease: longLease, Priority: 9}, done(task, `1`)); len(out.Tasks) > 0 || !out.More {
		r.Errorf("a step of priority 8 was leased, where 9 was the least: %+v", out)
	}
	claimed(again)  // became ready before
	claimed(urgent) // its next step
	claimed(little)
	first := claimed(usual)
	if out := r.applied(backend.Grant{Owner: "engine", Max: 1, Lease: longLease}, done(first, `1`)); len(out.Tasks) != 1 {
		r.Errorf("without a least priority, the next step was not leased: %+v", out)
	}
	claimed(more)
	if r.Advance == nil {
		return
	}
	early := submit(0)
	r.Advance(backend.PriorityStep * 3 / 2)
	late, urgent := submit(1), submit(2)
	claimed(urgent)
	claimed(early)
	claimed(late)
}

func claimNone(r *rig) {
	r.launch(single, `{"v": 0}`, grant(0))
	out := r.claim(0, grant(0))
	if len(out.Tasks) > 0 || !out.More {
		r.Errorf("a claim of none gave %d tasks, and More is %t", len(out.Tasks), out.More)
	}
	if got := r.claim(0, grant(1)); len(got.Tasks) != 1 {
		r.Errorf("%d tasks; want one", len(got.Tasks))
	}
}

func claimRace(r *rig) {
	r.launch(fan, `{"n": 200}`, grant(0))
	backends := []backend.Backend{r.b, r.reopen()}
	const claimers = 8
	var mu sync.Mutex
	seen := map[backend.Key]bool{}
	tokens := map[int64]bool{}
	var wg sync.WaitGroup
	for c := range claimers {
		wg.Go(func() {
			for empty := 0; empty < 3; { // other claimers may hold all rows for a moment
				out, err := backends[c%2].Claim(r.ctx, 0, grant(7))
				if err != nil {
					r.Errorf("Claim: %v", err)
					return
				}
				if empty++; len(out.Tasks) > 0 {
					empty = 0
				}
				mu.Lock()
				for _, t := range out.Tasks {
					if seen[t.Lease.Key] {
						r.Errorf("%v was leased twice at once", t.Lease.Key)
					}
					seen[t.Lease.Key], tokens[t.Lease.Token] = true, true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r.distinct(seen, r.claim(0, grant(200)).Tasks)
	if len(seen) != 200 {
		r.Errorf("%d of 200 node runs were handed out", len(seen))
	}
}

func claimExpired(r *rig) {
	_, tasks := r.launch(fan, `{"n": 3}`, brief(3))
	seen := map[backend.Key]int64{}
	for _, t := range tasks {
		seen[t.Lease.Key] = t.Lease.Token
	}
	if len(tasks) != 3 {
		r.Fatalf("%d tasks were granted at the start; want 3", len(tasks))
	}
	for back := 0; back < 3; {
		for _, t := range r.eventually(grant(2)) {
			before, ok := seen[t.Lease.Key]
			if !ok {
				r.Fatalf("%v came back; it was never handed out", t.Lease.Key)
			}
			if t.Lease.Token <= before {
				r.Errorf("%v has token %d after %d", t.Lease.Key, t.Lease.Token, before)
			}
			if t.Attempt != 1 {
				r.Errorf("a lost lease counted as attempt %d; only failures do", t.Attempt)
			}
			back++
		}
	}
}

func claimTokens(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, brief(1))
	last := task.Lease.Token
	for range 5 {
		again := r.eventually(brief(1))
		if len(again) != 1 || again[0].Lease.Key != task.Lease.Key || again[0].Lease.Token <= last {
			r.Fatalf("%+v came back after token %d", again, last)
		}
		if !bytes.Equal(again[0].Args, task.Args) {
			r.Errorf("arguments %s, and %s before", again[0].Args, task.Args)
		}
		last = again[0].Lease.Token
	}
}

// claimRetry checks that a failed attempt comes back with the next number, when it is due, and that NextDue reports it.
func claimRetry(r *rig) {
	retried := func(backoff string) backend.Task {
		return r.submitOne(fmt.Sprintf(`
fn main(input: [], output: [r]):
    r = @flaky(times=1) [retry: 2, backoff: %s]
`, backoff), `{}`, grant(1))
	}
	// Long enough for a slow machine to answer before it ends.
	out := r.applied(grant(1), failed(retried("1h"), "Flaky"))
	if len(out.Tasks) > 0 {
		r.Fatal("the retry was handed out before it was due")
	}
	if out.NextDue.IsZero() {
		r.Error("a retry waits for its time, and NextDue is zero")
	}
	task := retried("100ms")
	r.applied(grant(0), failed(task, "Flaky"))
	if r.Advance != nil {
		if early := r.claim(0, grant(1)); len(early.Tasks) > 0 || early.More {
			r.Fatal("the retry was ready before it was due")
		}
	}
	again := r.eventually(grant(1))
	if again[0].Attempt != 2 || again[0].Lease.Key != task.Lease.Key || again[0].Lease.Token <= task.Lease.Token {
		r.Fatalf("%+v came; want attempt 2 with a greater token", again[0])
	}
	r.answers(r.complete(grant(1), failed(task, "Flaky")), backend.Stale)
	r.applied(grant(1), done(again[0], `2`))
	r.completed(task.Lease.Key.Instance, `2`)
}

// claimTurnsOfWorkflows checks that a few instances of one workflow do not wait for the many of another that came before.
func claimTurnsOfWorkflows(r *rig) {
	if _, ok := r.b.(backend.TurnTaker); !ok {
		return
	}
	many, few := MustCompile(r, single), MustCompile(r, chain)
	crowd, guests := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for range 60 {
		sub := submission(many, `{"v": 0}`)
		crowd[sub.ID] = true
		r.submit(left(0), sub)
	}
	for range 6 {
		sub := submission(few, `{"v": 0}`)
		guests[sub.ID] = true
		r.submit(left(0), sub)
	}
	taken := takeTurns(r, backend.ByWorkflow, guests)
	if others := len(taken) - len(guests); others > len(guests)+3 {
		r.Errorf("%d node runs of a workflow were handed out before %d of another", others, len(guests))
	}
	drained(r, taken, len(crowd)+len(guests))
}

// claimTurnsOfManyWorkflows checks that every workflow has a turn before any has two, if a claim is too small for all. Each priority counts as
// a workflow.
func claimTurnsOfManyWorkflows(r *rig) {
	if _, ok := r.b.(backend.TurnTaker); !ok {
		return
	}
	const workflows, most = 6, 2
	p := MustCompile(r, single)
	for n := range workflows {
		program, err := p.WithPriority(n)
		if err != nil {
			r.Fatal(err)
		}
		for range 4 {
			r.submit(left(0), submission(program, `{"v": 0}`))
		}
	}
	for round := range 3 {
		had := map[int]int{}
		for range workflows / most {
			g := left(most)
			g.Order = backend.ByWorkflow
			for _, t := range r.claim(0, g).Tasks {
				had[t.Program.Priority()]++
			}
		}
		if len(had) != workflows {
			r.Errorf("round %d: turns by priority are %v; want one for each of %d", round, had, workflows)
		}
	}
}

// claimTurnsOfInstances checks that instances with one node run do not wait for the many of one that came before.
func claimTurnsOfInstances(r *rig) {
	if _, ok := r.b.(backend.TurnTaker); !ok {
		return
	}
	crowd, _ := r.launch(fan, `{"n": 60}`, left(0))
	guests := map[uuid.UUID]bool{}
	for range 6 {
		id, _ := r.launch(fan, `{"n": 1}`, left(0))
		guests[id] = true
	}
	for range 150 { // their turns bring nothing
		r.launch(fan, `{"n": 1}`, grant(1))
	}
	taken := takeTurns(r, backend.ByInstance, guests)
	if others := len(taken) - len(guests); others > 2*len(guests)+3 {
		r.Errorf("%d node runs of instance %s were handed out before those of %d others", others, crowd, len(guests))
	}
	drained(r, taken, 60+len(guests))
}

// claimTurnsOfManyInstances checks that every instance has a turn before any has two, if a claim is too small for all.
func claimTurnsOfManyInstances(r *rig) {
	if _, ok := r.b.(backend.TurnTaker); !ok {
		return
	}
	const instances, most = 6, 2
	for range instances {
		r.launch(fan, `{"n": 9}`, left(0))
	}
	for round := range 3 {
		had := map[uuid.UUID]int{}
		for claims, empty := 0, 0; claims < instances/most && empty < 2; {
			g := left(most)
			g.Order = backend.ByInstance
			out := r.claim(0, g)
			if len(out.Tasks) == 0 { // it begins anew
				empty++
				continue
			}
			claims++
			for _, t := range out.Tasks {
				had[t.Lease.Key.Instance]++
			}
		}
		if len(had) != instances {
			r.Errorf("round %d: turns are %v; want one for each of %d", round, had, instances)
		}
	}
}

// claimTurnsOfAllInstances checks that an instance has no more turns than others because it is the only one of its workflow.
func claimTurnsOfAllInstances(r *rig) {
	if _, ok := r.b.(backend.TurnTaker); !ok {
		return
	}
	alone, _ := r.launch(fan, `{"n": 40}`, left(0))
	guests, p := map[uuid.UUID]bool{}, MustCompile(r, single)
	for range 16 {
		sub := submission(p, `{"v": 0}`)
		guests[sub.ID] = true
		r.submit(left(0), sub)
	}
	taken := takeTurns(r, backend.ByInstance, guests)
	if others := len(taken) - len(guests); others > 5 {
		r.Errorf("instance %s, the only one of its workflow, had %d turns before each of %d others had one", alone, others, len(guests))
	}
}

// claimTurnsOfRetries checks that a retry has a turn of its workflow, also if its first attempt was leased at once.
func claimTurnsOfRetries(r *rig) {
	if _, ok := r.b.(backend.TurnTaker); !ok {
		return
	}
	task := r.submitOne(`
fn main(input: [], output: [r]):
    r = @flaky(times=1) [Flaky -> retry: 2]
`, `{}`, left(1))
	many := MustCompile(r, single)
	for range 9 {
		r.submit(left(0), submission(many, `{"v": 0}`))
	}
	r.applied(left(0), failed(task, "Flaky"))
	g := left(2)
	g.Order = backend.ByWorkflow
	for _, t := range r.claim(0, g).Tasks {
		if t.Lease.Key == task.Lease.Key && t.Attempt == 2 {
			return
		}
	}
	r.Error("a retry had no turn beside those of another workflow")
}

// left is a grant of one that claims in any order.
func left(most int) backend.Grant {
	g := grant(most)
	g.Fair = true
	return g
}

// takeTurns claims in an order, four at a time, until instances had a turn. It returns all leases.
func takeTurns(r *rig, order backend.Order, guests map[uuid.UUID]bool) map[backend.Key]bool {
	r.Helper()
	taken, waiting := map[backend.Key]bool{}, len(guests)
	for empty := 0; waiting > 0; {
		g := left(4)
		g.Order = order
		out := r.claim(0, g)
		if empty++; len(out.Tasks) > 0 {
			empty = 0
		}
		if empty > 15 || !out.More {
			r.Fatalf("%d of %d have had no turn, and a claim gives %d tasks; More is %t", waiting, len(guests), len(out.Tasks), out.More)
		}
		for _, t := range out.Tasks {
			if taken[t.Lease.Key] {
				r.Fatalf("%v is handed out twice", t.Lease.Key)
			}
			taken[t.Lease.Key] = true
			if guests[t.Lease.Key.Instance] {
				waiting--
			}
			if t.Since.IsZero() || t.Program == nil || t.Deliveries != 1 {
				r.Errorf("a task of a claim by turns: %+v", t)
			}
		}
	}
	return taken
}

// drained claims by time what is left, and checks that nothing is missing.
func drained(r *rig, taken map[backend.Key]bool, want int) {
	r.Helper()
	for more := true; more; {
		out := r.claim(0, grant(16))
		more = len(out.Tasks) > 0
		for _, t := range out.Tasks {
			if taken[t.Lease.Key] {
				r.Fatalf("%v is handed out twice", t.Lease.Key)
			}
			taken[t.Lease.Key] = true
		}
	}
	if len(taken) != want {
		r.Errorf("%d node runs were handed out, want %d", len(taken), want)
	}
}
