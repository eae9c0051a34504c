package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

// These variables make this test binary an engine on the database of childEnv. holdEnv: how many actions run before the others
// wait for a line of input.
const (
	childEnv  = "PULLEY_TEST_ENGINE_DSN"
	schemaEnv = "PULLEY_TEST_ENGINE_SCHEMA"
	designEnv = "PULLEY_TEST_ENGINE_DESIGN"
	holdEnv   = "PULLEY_TEST_ENGINE_HOLD"
)

// elements is several times what two engines hold in slots and prefetch.
var elements = depth.Of(240, 4000)

const sharedSource = `fn main(input: [count], output: [total]):
    all = spread range(count):i -> @work(i=i)
    return sum(all)
`

func compileShared(t *testing.T) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("shared.ir", []byte(sharedSource), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The child process prints what it does, one line each, and stops when its input ends.
func TestChildEngine(t *testing.T) {
	dsn := os.Getenv(childEnv)
	if dsn == "" {
		return
	}
	hold, err := strconv.Atoi(os.Getenv(holdEnv))
	if err != nil {
		t.Fatal(err)
	}
	if err := childEngine(os.Getenv(designEnv), dsn, os.Getenv(schemaEnv), hold); err != nil {
		t.Fatal(err)
	}
}

func childEngine(design, dsn, schema string, hold int) error {
	ctx := context.Background()
	spec, err := designs.Parse(design)
	if err != nil {
		return err
	}
	store, err := spec.Open(ctx, designs.OpenOptions{DSN: dsn, Schema: schema, Lease: time.Second})
	if err != nil {
		return err
	}
	defer store.Close()
	var begun atomic.Int64
	released := make(chan struct{})
	actions, err := worker.NewRegistry(worker.Action{Name: "work", Run: func(ctx context.Context, call worker.Call) (any, error) {
		if begun.Add(1) > int64(hold) {
			select {
			case <-released:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		timer := time.NewTimer(2 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return 1, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	if err != nil {
		return err
	}
	say := make(chan string, 4*elements) // a place for every line: observers must not wait
	written := make(chan struct{})
	go func() {
		defer close(written)
		for line := range say {
			fmt.Println(line)
		}
	}()
	e, err := engine.New(engine.Config{
		Backend: store, Workers: actions, Slots: 16, Lease: 3 * time.Second,
		Observer: engine.Observer{
			Answered: func(c backend.Completion, out backend.Outcome, err error, _ time.Time) {
				if err == nil && out.Answer == backend.Applied {
					say <- fmt.Sprintf("applied %d/%s", c.Lease.Key.Run.Node, c.Lease.Key.Run.Path)
				}
			},
			Ended: func(inst backend.Instance, _ time.Time) { say <- fmt.Sprintf("ended %s %s", inst.Status, inst.Result) },
		},
	})
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	say <- "ready"
	input := bufio.NewScanner(os.Stdin) // ends when the parent closes it, or dies
	if input.Scan() {
		close(released)
	}
	for input.Scan() {
	}
	err = e.Stop(ctx)
	close(say)
	<-written
	return err
}

type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// ok is false at the end of a child's output.
type line struct {
	child int
	text  string
	ok    bool
}

func (s *site) startChild(n, hold int, lines chan<- line) *child {
	t := s.T
	t.Helper()
	cmd := exec.CommandContext(s.ctx, os.Args[0], "-test.run=^TestChildEngine$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), childEnv+"="+s.dsn, schemaEnv+"="+s.schema, designEnv+"="+s.design.String(), holdEnv+"="+strconv.Itoa(hold))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for scan := bufio.NewScanner(stdout); scan.Scan(); {
			lines <- line{child: n, text: scan.Text(), ok: true}
		}
		lines <- line{child: n}
	}()
	return &child{cmd: cmd, stdin: stdin}
}

type sharing struct {
	store     backend.Backend
	children  [2]*child
	killAfter int // completions of the first engine before it is killed; zero: never
	ready     int
	applied   [2]map[string]int // times each run was applied, by engine
	result    string
}

// share returns what each engine applied.
func share(at *site, killAfter int) [2]map[string]int {
	at.Helper()
	at.lease = time.Second
	t, ctx := at.T, at.ctx
	s := &sharing{store: at.open(), killAfter: killAfter, applied: [2]map[string]int{{}, {}}}
	lines := make(chan line, 4*elements)
	// Each engine holds back enough for the other to work, or to be killed halfway.
	holds := [2]int{elements / 2, elements / 2}
	if killAfter > 0 {
		holds[1] = elements / 4
	}
	for i := range s.children {
		s.children[i] = at.startChild(i, holds[i], lines)
	}
	for open := len(s.children); open > 0; {
		said := <-lines
		if !said.ok {
			open--
			continue
		}
		s.hear(ctx, t, said)
	}
	for i, c := range s.children {
		var exit *exec.ExitError
		if err := c.cmd.Wait(); err != nil && !(killAfter > 0 && i == 0 && errors.As(err, &exit)) {
			t.Errorf("engine %d: %v", i, err)
		}
	}
	if want := fmt.Sprintf("completed %d", elements); s.result != want {
		t.Errorf("the instance %q, want %q", s.result, want)
	}
	return s.applied
}

func (s *sharing) hear(ctx context.Context, t *testing.T, said line) {
	t.Helper()
	switch kind, rest, _ := strings.Cut(said.text, " "); kind {
	case "ready":
		if s.ready++; s.ready == len(s.children) {
			submitShared(ctx, t, s.store)
		}
	case "applied":
		s.applied[said.child][rest]++
		if s.applied[said.child][rest] > 1 {
			return
		}
		if said.child == 0 && len(s.applied[0]) == s.killAfter {
			if err := s.children[0].cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			s.resume(t, 1)
		}
		if s.killAfter == 0 && len(s.applied[said.child]) == 1 && len(s.applied[1-said.child]) > 0 {
			s.resume(t, 0)
			s.resume(t, 1)
		}
	case "ended":
		s.result = rest
		for _, c := range s.children {
			_ = c.stdin.Close() // already closed if it was killed
		}
	}
}

func (s *sharing) resume(t *testing.T, child int) {
	t.Helper()
	if _, err := fmt.Fprintln(s.children[child].stdin, "continue"); err != nil {
		t.Error(err)
	}
}

func submitShared(ctx context.Context, t *testing.T, store backend.Backend) {
	t.Helper()
	sub := backend.Submission{ID: uuid.New(), Program: compileShared(t), Input: json.RawMessage(fmt.Sprintf(`{"count": %d}`, elements))}
	grant := backend.Grant{Owner: "test", Lease: time.Second}
	if _, err := store.Submit(ctx, []backend.Submission{sub}, grant); err != nil {
		t.Fatal(err)
	}
	if l, ok := store.(backend.Listener); ok {
		if err := l.Notify(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcessesShareAFanOut(t *testing.T) {
	onEveryDatabase(t, sharesAFanOut)
}

func sharesAFanOut(t *site) {
	applied := share(t, 0)
	total := 0
	for i, runs := range applied {
		if total += len(runs); len(runs) == 0 {
			t.Errorf("engine %d did nothing", i)
		}
		for run, n := range runs {
			if _, both := applied[1-i][run]; n != 1 || both {
				t.Errorf("run %s was applied %d times by engine %d, by both: %v", run, n, i, both)
			}
		}
	}
	if total != elements {
		t.Errorf("%d runs were applied, want %d", total, elements)
	}
}

// The last completions of the killed engine may be missing from its output.
func TestOneOfTwoProcessesIsKilled(t *testing.T) {
	onEveryDatabase(t, survivesAKill)
}

func survivesAKill(t *site) {
	killAfter := elements / 8
	applied := share(t, killAfter)
	if len(applied[0]) < killAfter || len(applied[1]) < elements/4 {
		t.Errorf("the killed engine applied %d, the other %d: the kill was not in the middle", len(applied[0]), len(applied[1]))
	}
	for run, n := range applied[1] {
		if n != 1 || applied[0][run] > 0 {
			t.Errorf("run %s was applied %d times, and %d times by the killed engine", run, n, applied[0][run])
		}
	}
}
