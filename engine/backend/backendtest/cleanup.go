package backendtest

import (
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// Background queues a design's background jobs until a test runs them.
type Background struct{ jobs []func() }

// Keep adds a job.
func (b *Background) Keep(job func()) { b.jobs = append(b.jobs, job) }

// Run runs the jobs in order, including those added while it runs.
func (b *Background) Run() {
	for len(b.jobs) > 0 {
		job := b.jobs[0]
		b.jobs = b.jobs[1:]
		job()
	}
}

// Cleaning is a design with one shard that cleans up in the background.
type Cleaning struct {
	backend.Backend
	Background  *Background
	Statements  func() int64 // sent to the store
	Leftovers   func() int   // stored node runs of ended instances
	NeedCleanup func() int   // instances marked as needing cleanup
}

// TestEnds ends instances of different sizes by a failure. A completion must send the same number of statements whatever is left
// of its instance, which the background removes (I10), or a sweep, if the background does not.
func (c *Cleaning) TestEnds(t *testing.T) {
	c.fail(t, `{"n": 2}`) // resolves the owner's id
	small, large := c.fail(t, `{"n": 2}`), c.fail(t, `{"n": 2000}`)
	if small != large || small == 0 {
		t.Errorf("the end of a small instance takes %d statements, that of a large one %d", small, large)
	}
	if c.Leftovers() < 2000 {
		t.Fatalf("%d rows are left; want those of the large instance, or this shows nothing", c.Leftovers())
	}
	c.Background.Run()
	if rows := c.Leftovers(); rows > 0 {
		t.Errorf("%d rows are left after the cleanup in the background", rows)
	}
	c.fail(t, `{"n": 50}`)
	if c.Leftovers() < 49 {
		t.Fatalf("%d rows are left; want those of the last instance, or this shows nothing", c.Leftovers())
	}
	if _, err := c.Sweep(t.Context(), 0); err != nil || c.Leftovers() > 0 {
		t.Errorf("%d rows are left after a sweep (%v)", c.Leftovers(), err)
	}
	c.Background.Run() // comes late
	if n := c.NeedCleanup(); n > 0 {
		t.Errorf("%d instances are still said to have left something", n)
	}
}

var spreadOfMany = Workflow{Name: "spread of many", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [r]):
    r = spread range(n):x -> @double(value=x)
`}

func (c *Cleaning) fail(t *testing.T, input string) int64 {
	t.Helper()
	p := spreadOfMany.Program(t)
	out, err := c.Submit(t.Context(), []backend.Submission{{ID: uuid.New(), Program: p, Input: []byte(input)}}, Granted(1))
	if err != nil {
		t.Fatal(err)
	}
	bad := backend.Completion{Lease: out.Tasks[0].Lease, Program: p, Attempt: 1, Failure: &plan.Failure{Type: "Bad"}}
	before := c.Statements()
	out, err = c.Complete(t.Context(), 0, []backend.Completion{bad}, Granted(0))
	if err != nil || Answers(out) != "applied" || len(out.Ended) != 1 {
		t.Fatalf("%s, %d ended (%v); want one applied that ends its instance", Answers(out), len(out.Ended), err)
	}
	return c.Statements() - before
}
