package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/limit"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/pause"
)

// limitedLease is long where other tests keep the machine busy: what a process does that stands still for longer is beyond leases.
var limitedLease = depth.Of(6*time.Second, 2*time.Second)

// The child process runs actions under limits until its input ends, and prints when each begins and ends.
func TestChildLimits(t *testing.T) {
	store := openInChild(t, limitedLease)
	if store == nil {
		return
	}
	var mu sync.Mutex
	tell := func(what string, call worker.Call) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s %s %s %d\n", what, call.Instance, call.Action, time.Now().UnixNano())
	}
	act := func(name string, takes time.Duration) worker.Action {
		return worker.Action{Name: name, Run: func(ctx context.Context, call worker.Call) (any, error) {
			tell("begin", call)
			err := pause.For(ctx, takes)
			tell("end", call)
			return 1, err
		}}
	}
	actions, err := worker.NewRegistry(act("free", 0), act("few", 10*time.Millisecond), act("often", 5*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	runInChild(t, engine.Config{
		Backend: store, Workers: actions, Lease: limitedLease, Limits: true, MaxDeliveries: 10_000,
	})
}

// limitedChild is an engine in a process, and what it printed.
type limitedChild struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	read  chan struct{} // closed at the end of its output

	mu       sync.Mutex
	open     map[string]limit.Attempt
	attempts []limit.Attempt
	frozen   time.Time // SIGSTOP was sent
}

func startLimited(t *site) *limitedChild {
	t.Helper()
	c := &limitedChild{cmd: t.childRunning("TestChildLimits"), read: make(chan struct{}), open: map[string]limit.Attempt{}}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.read)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			c.note(lines.Text())
		}
	}()
	return c
}

func (c *limitedChild) note(line string) {
	var what, instance, action string
	var ns int64
	if n, _ := fmt.Sscan(line, &what, &instance, &action, &ns); n < 4 { // the test binary's own lines
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, at := instance+" "+action, time.Unix(0, ns)
	switch what {
	case "begin":
		c.open[key] = limit.Attempt{Action: action, Start: at}
	case "end":
		c.end(key, at)
	}
}

func (c *limitedChild) end(key string, at time.Time) {
	a := c.open[key]
	a.End = at
	if permitted := c.frozen.Add(limitedLease); !c.frozen.IsZero() && a.Start.Before(c.frozen) && at.After(permitted) {
		a.End = c.frozen // it did not run since, and what it does before it sees the time is beyond leases
	}
	c.attempts = append(c.attempts, a)
	delete(c.open, key)
}

// kill ends the process, and with it its attempts.
func (c *limitedChild) kill(t *site) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.read
	_ = c.cmd.Wait() // it was killed
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for key := range c.open {
		c.end(key, now)
	}
}

// Four processes share two limits; two of them are killed, one is stopped and continued, and new ones come. The limits hold, and
// everything ends. How much of the rate is used depends on the machine here; package dispatch's test in virtual time demands it.
func TestLimitsOfKilledProcesses(t *testing.T) {
	var list []designs.Spec
	for _, d := range designs.Durable() {
		if d.Name() == "push" || d.Name() == "journal" && depth.Night() { // before a change, the suite of package backendtest is enough for it
			list = append(list, d)
		}
	}
	on(t, list, limitsSurviveKills)
}

const limitedSource = `fn main(input: [], output: [x]):
    x = @%s()
`

func limitsSurviveKills(t *site) {
	store := t.open()
	limits := []limit.Limit{
		{Name: "few", Actions: []string{"few"}, Concurrency: 7},
		{Name: "often", Actions: []string{"often"}, Rate: limit.Rate{Starts: 100, Per: time.Second}},
	}
	for _, l := range limits {
		if err := store.(backend.Limiter).SetLimit(t.ctx, l); err != nil {
			t.Fatal(err)
		}
	}
	sizes := map[string]int{"free": depth.Of(500, 50_000), "few": depth.Of(1500, 40_000), "often": depth.Of(500, 10_000)}
	ids := map[string][]uuid.UUID{}
	for action, n := range sizes {
		ids[action] = submitMany(t, store, fmt.Sprintf(limitedSource, action), n)
	}
	var children []*limitedChild
	for range 4 {
		children = append(children, startLimited(t))
	}
	awaitEnded(t, store, ids["often"], 0.2)
	children[0].kill(t)
	children = append(children, startLimited(t))
	awaitEnded(t, store, ids["often"], 0.4)
	children[1].freeze(t)
	awaitEnded(t, store, ids["often"], 0.7)
	children[1].thaw(t)
	children[2].kill(t)
	for _, all := range ids {
		awaitEnded(t, store, all, 1)
	}
	var attempts []limit.Attempt
	for i, c := range children {
		if i != 0 && i != 2 {
			c.stop(t)
		}
		attempts = append(attempts, c.attempts...)
	}
	if !depth.Night() { // an action begins a little after the engine has started it, on a busy machine as much as a second
		limits[1].Rate = limit.Rate{Starts: 600, Per: 5 * time.Second}
	}
	for _, l := range limits {
		if err := l.Check(attempts); err != nil {
			t.Error(err)
		}
	}
	slices.SortFunc(attempts, func(a, b limit.Attempt) int { return a.Start.Compare(b.Start) })
	limits[1].Rate = limit.Rate{Starts: 100, Per: time.Second}
	kept := limits[1].Kept(attempts[:len(attempts)*9/10]) // the last ones wait for the leases of engines that were killed
	depth.Done(t, "attempts=%d kept=%.3f", len(attempts), kept)
}

func (c *limitedChild) freeze(t *site) {
	t.Helper()
	c.mu.Lock()
	c.frozen = time.Now()
	c.mu.Unlock()
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func (c *limitedChild) thaw(t *site) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func (c *limitedChild) stop(t *site) {
	t.Helper()
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	<-c.read
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func submitMany(t *site, store backend.Backend, source string, n int) []uuid.UUID {
	t.Helper()
	p, err := plan.CompileText("limited.ir", []byte(source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	subs := make([]backend.Submission, n)
	ids := make([]uuid.UUID, n)
	for i := range subs {
		ids[i] = uuid.New()
		subs[i] = backend.Submission{ID: ids[i], Program: p, Input: json.RawMessage("{}")}
	}
	byShard := map[int][]backend.Submission{}
	for _, s := range subs {
		shard := backend.ShardOf(s.ID, store.Shards())
		byShard[shard] = append(byShard[shard], s)
	}
	for _, some := range byShard {
		for part := range slices.Chunk(some, 1000) {
			if _, err := store.Submit(t.ctx, part, backend.Grant{Owner: "test"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ids
}

// awaitEnded waits until a part of instances has ended.
func awaitEnded(t *site, store backend.Backend, ids []uuid.UUID, part float64) {
	t.Helper()
	for range pause.Tries(t.ctx, 100*time.Millisecond) {
		ended := 0
		for some := range slices.Chunk(ids, 1000) {
			found, err := store.Lookup(t.ctx, some)
			if err != nil {
				t.Fatal(err)
			}
			for _, inst := range found {
				if inst.Status == backend.Completed {
					ended++
				} else if inst.Status != backend.Running {
					t.Fatalf("an instance is %s: %v", inst.Status, inst.Failure)
				}
			}
		}
		if float64(ended) >= part*float64(len(ids)) {
			return
		}
	}
	t.Fatalf("the instances did not end in time: %v", context.Cause(t.ctx))
}
