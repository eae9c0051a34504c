package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/worker"
)

// What makes this test binary an engine whose one action kills it: design, schema and DSN, with spaces between, and how often
// an attempt may be delivered.
const (
	poisonEnv = "PULLEY_TEST_POISON"
	boundEnv  = "PULLEY_TEST_BOUND"
)

// TestChildPoison is not a test but the other process of those below, and does nothing by itself.
func TestChildPoison(t *testing.T) {
	design, rest, ok := strings.Cut(os.Getenv(poisonEnv), " ")
	if !ok {
		return
	}
	schema, dsn, _ := strings.Cut(rest, " ")
	spec, err := designs.Parse(design)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := strconv.Atoi(os.Getenv(boundEnv))
	if err != nil {
		t.Fatal(err)
	}
	store, err := spec.Open(t.Context(), designs.OpenOptions{DSN: dsn, Schema: schema, Lease: poisonLease})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	actions, err := worker.NewRegistry(worker.Action{Name: "poison", Run: poison}, worker.Action{Name: "harmless", Run: harmless})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{
		Backend: store, Workers: actions, Batch: spec.Batch(), Lease: poisonLease, Poll: 20 * time.Millisecond, MaxDeliveries: bound,
		Observer: engine.Observer{Ended: func(inst backend.Instance, _ time.Time) {
			fmt.Println("ended", inst.Status, string(inst.Result), inst.Failure)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it, or dies
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// poisonLease is short, since the attempt of an engine that dies rests for so long.
const poisonLease = 300 * time.Millisecond

// poison kills its engine as nothing can be kept from doing.
func poison(_ context.Context, call worker.Call) (any, error) {
	fmt.Println("begun", call.Attempt, call.Delivery) // written before anything else happens
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		return nil, err
	}
	select {}
}

func harmless(context.Context, worker.Call) (any, error) { return "harmless", nil }

// poisoned runs such an engine until it dies or ends an instance, and gives what it said.
func (s *site) poisoned(bound int) (begun []string, end string) {
	s.Helper()
	cmd := exec.CommandContext(s.ctx, os.Args[0], "-test.run=^TestChildPoison$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), poisonEnv+"="+s.design.String()+" "+s.schema+" "+s.dsn, boundEnv+"="+strconv.Itoa(bound))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	for scan := bufio.NewScanner(stdout); scan.Scan(); {
		if text, ok := strings.CutPrefix(scan.Text(), "begun "); ok {
			begun = append(begun, text)
		}
		if text, ok := strings.CutPrefix(scan.Text(), "ended "); ok {
			end = text
			_ = stdin.Close() // it stops now
		}
	}
	if err := cmd.Wait(); (err != nil) != (end == "") {
		s.Errorf("the engine that said %q and %q: %v", begun, end, err)
	}
	return begun, end
}

// TestPoisonKillsABoundedNumberOfEngines has each engine be killed by the attempt that it runs, SIGKILL: as many as the bound
// says begin it, and the next one fails it, which the workflow catches. A retry is a new attempt, and has the bound anew.
func TestPoisonKillsABoundedNumberOfEngines(t *testing.T) {
	for _, c := range []struct {
		name, call string
		bound      int
		want       []string // attempts and deliveries that are begun
	}{
		{"five", "@poison()", 5, []string{"1 1", "1 2", "1 3", "1 4", "1 5"}},
		{"three", "@poison()", 3, []string{"1 1", "1 2", "1 3"}},
		{"one", "@poison()", 1, []string{"1 1"}},
		{"retried", "@poison() [retry: 1]", 2, []string{"1 1", "1 2", "2 1", "2 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryDatabase(t, func(s *site) {
				s.lease = poisonLease
				store := s.open()
				s.store(store, program(s.T, `fn main(input: [], output: [x]):
    x = "not caught"
    before = @harmless()
    try:
        x = `+c.call+`
    except Other:
        x = "caught as another"
    except WorkerDied:
        x = before + ", and caught"
`, ir.Limits{}))
				store.Close()
				var all []string
				for range len(c.want) + 2 {
					begun, end := s.poisoned(c.bound)
					all = append(all, begun...)
					if end == "" {
						continue
					}
					if end != `completed "harmless, and caught" <nil>` {
						s.Errorf("the end is %s", end)
					}
					break
				}
				if fmt.Sprint(all) != fmt.Sprint(c.want) {
					s.Errorf("begun were attempts and deliveries %q; want %q", all, c.want)
				}
			})
		})
	}
}
