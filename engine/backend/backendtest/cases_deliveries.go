package backendtest

import (
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

var deliveryCases = []testCase{
	{name: "deliveries/leases that ran out count", run: deliveriesCounted},
	{name: "deliveries/first by a claim", run: deliveriesClaimed},
	{name: "deliveries/retries begin anew", run: deliveriesOfRetries},
	{name: "deliveries/rounds begin anew", run: deliveriesOfRounds},
	{name: "deliveries/a renewed lease counts once", run: deliveriesRenewed},
	{name: "deliveries/a lease that is given back does not count", run: deliveriesReturned},
	{name: "deliveries/given back comes first", run: deliveriesFirst},
	{name: "deliveries/given back with a pause", run: deliveriesPaused},
	{name: "deliveries/a late completion changes no count", run: deliveriesStale},
	{name: "deliveries/the count survives the store's end", run: deliveriesReopened},
	{name: "deliveries/what nobody had was not delivered", run: deliveriesUntouched},
	{name: "deliveries/given back, and the store ends", run: deliveriesReturnedReopened},
}

func (r *rig) delivered(t backend.Task, attempt, deliveries int) backend.Task {
	r.Helper()
	if t.Attempt != attempt || t.Deliveries != deliveries {
		r.Fatalf("attempt %d came at its delivery %d; want attempt %d at delivery %d", t.Attempt, t.Deliveries, attempt, deliveries)
	}
	return t
}

func (r *rig) again(g backend.Grant, attempt, deliveries int) backend.Task {
	r.Helper()
	tasks := r.eventually(g)
	if len(tasks) != 1 {
		r.Fatalf("%d tasks; want one", len(tasks))
	}
	return r.delivered(tasks[0], attempt, deliveries)
}

func deliveriesCounted(r *rig) {
	r.delivered(r.submitOne(single, `{"v": 1}`, brief(1)), 1, 1)
	for n := 2; n < 8; n++ {
		r.again(brief(1), 1, n)
	}
	task := r.again(grant(1), 1, 8)
	r.applied(grant(0), done(task, `1`))
}

func deliveriesClaimed(r *rig) {
	_, tasks := r.launch(fan, `{"n": 5}`, grant(0))
	if len(tasks) > 0 {
		r.Fatalf("%d tasks; none were wanted", len(tasks))
	}
	for seen := 0; seen < 5; seen++ {
		for _, t := range r.claim(0, grant(1)).Tasks {
			r.delivered(t, 1, 1)
		}
	}
	id, _ := r.launch(chain, `{"v": 5}`, grant(0))
	r.again(brief(1), 1, 1)
	again := r.again(grant(1), 1, 2)
	next := r.applied(grant(1), done(again, `5`)).Tasks
	if len(next) != 1 || next[0].Lease.Key.Instance != id {
		r.Fatalf("%d tasks; want the one that follows", len(next))
	}
	r.delivered(next[0], 1, 1)
}

func flaking(backoff string) string {
	return `
fn main(input: [], output: [r]):
    r = @flaky(times=9) [retry: 3` + backoff + `]
`
}

func deliveriesOfRetries(r *rig) {
	for _, backoff := range []string{"", ", backoff: 1ms"} {
		r.delivered(r.submitOne(flaking(backoff), `{}`, brief(1)), 1, 1)
		task := r.again(grant(1), 1, 2)
		r.applied(grant(0), failed(task, "Flaky"))
		r.again(brief(1), 2, 1)
		r.again(brief(1), 2, 2)
		task = r.again(grant(1), 2, 3)
		out := r.applied(brief(1), failed(task, "Flaky"))
		for _, t := range out.Tasks { // the commit or the next claim may lease it
			r.delivered(t, 3, 1)
		}
		task = r.again(grant(1), 3, 1+len(out.Tasks))
		r.applied(grant(0), failed(task, "Bad"))
		task = r.again(grant(1), 4, 1)
		r.applied(grant(0), done(task, `1`))
	}
}

func deliveriesOfRounds(r *rig) {
	r.delivered(r.submitOne(`
fn main(input: [], output: [x]):
    x = 0
    for i in range(3):
        x = @double(value=i)
`, `{}`, brief(1)), 1, 1)
	task := r.again(grant(1), 1, 2)
	for range 2 {
		r.applied(grant(0), done(task, `1`))
		r.again(brief(1), 1, 1)
		task = r.again(grant(1), 1, 2)
	}
	r.applied(grant(0), done(task, `1`))
	r.completed(task.Lease.Key.Instance, `1`)
}

func deliveriesRenewed(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	for range 3 {
		if kept := r.renew(grant(0), task.Lease); !kept[0] {
			r.Fatal("the lease was held, and Extend says it was not")
		}
	}
	if kept := r.renew(brief(0), task.Lease); !kept[0] {
		r.Fatal("the lease was held, and Extend says it was not")
	}
	r.again(brief(1), 1, 2)
}

func (r *rig) returnLeases(leases ...backend.Lease) {
	r.Helper()
	for i, held := range r.renew(backend.Grant{Owner: "suite"}, leases...) {
		if !held {
			r.Fatalf("lease %d was held, and could not be given back", i)
		}
	}
}

func deliveriesReturned(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	for range 3 {
		r.returnLeases(task.Lease)
		if r.renew(backend.Grant{Owner: "suite"}, task.Lease)[0] {
			r.Error("a lease was given back twice")
		}
		if r.renew(grant(0), task.Lease)[0] {
			r.Error("a lease that was given back was renewed")
		}
		r.answers(r.complete(grant(0), done(task, `1`)), backend.Stale)
		before := task.Lease.Token
		if task = r.again(grant(1), 1, 1); task.Lease.Token <= before {
			r.Errorf("token %d after %d", task.Lease.Token, before)
		}
	}
	r.renew(brief(0), task.Lease)
	for range 3 {
		task = r.again(grant(1), 1, 2) // one delivery was lost
		r.returnLeases(task.Lease)
	}
	r.applied(grant(0), done(r.again(grant(1), 1, 2), `1`))
}

// deliveriesPaused checks that node runs that are returned with a pause come after it, and after others; the delivery does not count.
func deliveriesPaused(r *rig) {
	const pause = 300 * time.Millisecond
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	returned := time.Now()
	if held := r.renew(backend.Grant{Owner: "suite", Pause: pause}, task.Lease); !held[0] {
		r.Fatal("a lease was held, and could not be given back")
	}
	if r.renew(grant(0), task.Lease)[0] {
		r.Error("a lease that was given back was renewed")
	}
	r.answers(r.complete(grant(0), done(task, `1`)), backend.Stale)
	got := r.claim(0, grant(1))
	if len(got.Tasks) == 0 && got.NextDue.IsZero() {
		r.Error("nothing says when the node run is due")
	}
	if passed := time.Since(returned); len(got.Tasks) > 0 && r.Advance == nil && passed < pause {
		r.Errorf("the node run was leased after %v, its pause is %v", passed, pause)
	}
	if len(got.Tasks) == 0 {
		got.Tasks = r.eventually(grant(1))
	}
	r.applied(grant(0), done(r.delivered(got.Tasks[0], 1, 1), `1`))
}

// deliveriesFirst checks that returned node runs come before those never leased.
func deliveriesFirst(r *rig) {
	p := MustCompile(r, single)
	first, second := submission(p, `{"v": 1}`), submission(p, `{"v": 2}`)
	task := r.submit(grant(1), first).Tasks[0]
	r.submit(grant(0), second)
	r.returnLeases(task.Lease)
	for _, want := range []uuid.UUID{first.ID, second.ID} {
		if got := r.claim(0, grant(1)).Tasks; len(got) != 1 || got[0].Lease.Key.Instance != want {
			r.Fatalf("%d tasks, the wrong one or not one; want that of instance %s", len(got), want)
		}
	}
}

func deliveriesStale(r *rig) {
	old := r.submitOne(single, `{"v": 1}`, brief(1))
	r.again(brief(1), 1, 2)
	task := r.again(grant(1), 1, 3)
	r.answers(r.complete(grant(0), done(old, `1`)), backend.Stale)
	if kept := r.renew(brief(0), task.Lease); !kept[0] {
		r.Fatal("the lease was held, and Extend says it was not")
	}
	r.applied(grant(0), done(r.again(grant(1), 1, 4), `1`))
}

func (r *rig) restart() {
	r.Helper()
	r.b.Close()
	r.b = r.reopen()
}

func deliveriesReopened(r *rig) {
	r.delivered(r.submitOne(flaking(""), `{}`, brief(1)), 1, 1)
	for n := 2; n < 6; n++ {
		r.restart()
		r.again(brief(1), 1, n)
	}
	r.restart()
	r.applied(grant(0), failed(r.again(grant(1), 1, 6), "Flaky"))
	r.restart()
	r.again(brief(1), 2, 1)
	r.again(brief(1), 2, 2)
	r.restart()
	r.applied(grant(0), done(r.again(grant(1), 2, 3), `1`))
}

func deliveriesUntouched(r *rig) {
	r.launch(single, `{"v": 1}`, grant(0))
	r.restart()
	r.restart()
	r.again(brief(1), 1, 1)
	r.restart()
	r.again(grant(1), 1, 2)
}

func deliveriesReturnedReopened(r *rig) {
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	r.returnLeases(task.Lease)
	r.restart()
	r.again(brief(1), 1, 1)
	task = r.again(grant(1), 1, 2)
	r.returnLeases(task.Lease)
	r.restart()
	task = r.again(grant(1), 1, 2)
	r.applied(grant(0), done(task, `1`))
}
