package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/engine/worker/manifest"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
	"pulley/internal/procenv"
)

const (
	jobVariable  = "PULLEY_TEST_PIPELINE_JOB"
	markVariable = "PULLEY_TEST_PIPELINE_MARK" // common to the processes of one test
)

const within = 3 * time.Minute

type job struct {
	ID      uuid.UUID `json:"id"`
	Backend string    `json:"backend"`
	DSN     string    `json:"dsn"`
	Schema  string    `json:"schema"`
	Actions string    `json:"actions"` // empty: the built-in ones
	Program string    `json:"program"`
	Input   string    `json:"input"`

	Deliveries int `json:"deliveries"` // of an attempt, at most; zero: the default
}

func TestMain(m *testing.M) {
	text := os.Getenv(jobVariable)
	if text == "" {
		pgtest.Main(m)
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		var in backend.Instance
		if in, err = j.run(context.Background()); err == nil {
			fmt.Println(shown(in))
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func (j job) run(ctx context.Context) (in backend.Instance, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	text, err := os.ReadFile(j.Program)
	if err != nil {
		return in, err
	}
	program, err := plan.CompileText(j.Program, text, ir.Limits{})
	if err != nil {
		return in, err
	}
	reg, closeActions, err := j.actions()
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, closeActions()) }()
	spec, err := designs.Parse(j.Backend)
	if err != nil {
		return in, err
	}
	store, err := spec.Open(ctx, designs.OpenOptions{DSN: j.DSN, Schema: j.Schema})
	if err != nil {
		return in, err
	}
	defer store.Close()
	e, err := engine.New(engine.Config{Backend: store, Workers: reg, CheckActions: true, Lease: time.Second, Slots: 16, Batch: spec.Batch(), MaxDeliveries: j.Deliveries})
	if err != nil {
		return in, err
	}
	if err := e.Start(ctx); err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, e.Stop(ctx)) }()
	if _, err := e.Submit(ctx, engine.SubmitRequest{ID: j.ID, Program: program, Input: json.RawMessage(j.Input)}); err != nil {
		return in, err
	}
	return e.Wait(ctx, j.ID)
}

func (j job) actions() (*worker.Registry, func() error, error) {
	if j.Actions == "" {
		reg, err := worker.NewRegistry(worker.Builtins()...)
		return reg, func() error { return nil }, err
	}
	m, err := manifest.Open(j.Actions, manifest.Options{})
	if err != nil {
		return nil, nil, err
	}
	reg, err := worker.NewRegistry(m.Actions()...)
	return reg, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		return m.Close(ctx)
	}, err
}

func shown(in backend.Instance) string {
	if in.Failure != nil {
		return fmt.Sprintf("%s: %s", in.Status, in.Failure)
	}
	return fmt.Sprintf("%s: %s", in.Status, in.Result)
}

func newJob(input string) job {
	return job{ID: uuid.Must(uuid.NewV7()), Backend: "memory", Actions: "actions.yaml", Program: "pipeline.ir", Input: input}
}

func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	depth.Needs(t, "other processes")
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("CI must have %s", name)
			}
			t.Skipf("this needs %s", name)
		}
	}
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this needs Linux' /proc, to see that no process is left")
	}
}

func TestPipeline(t *testing.T) {
	needPrograms(t, "sh", "sed", "perl", "python3")
	mark := uuid.NewString()
	t.Setenv(markVariable, mark)
	for _, input := range []string{
		`{"fan_out": 24, "loop_iters": 3}`,
		`{"fan_out": 8, "loop_iters": 4}`,
		`{"fan_out": 0, "loop_iters": 1}`,
		`{"fan_out": -1, "loop_iters": 1}`,
	} {
		j := newJob(input)
		got, err := j.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j.ID, j.Actions = uuid.Must(uuid.NewV7()), ""
		want, err := j.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if shown(got) != shown(want) && (got.Failure == nil || want.Failure == nil || got.Failure.Type != want.Failure.Type) {
			t.Errorf("with input %s, it ends with %s; with the built-in actions with %s", input, shown(got), shown(want))
		}
		t.Logf("%s: %s", input, shown(got))
	}
	if left := procenv.Find(markVariable+"="+mark, procenv.Settled); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func (j job) start(t *testing.T, mark string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text), markVariable+"="+mark)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

// awaitProcesses waits until there are at least n processes with the mark; for 0, until there are none.
func awaitProcesses(t *testing.T, mark string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var found map[int]string
	for range pause.Tries(ctx, 20*time.Millisecond) {
		found = procenv.Find(markVariable+"="+mark, procenv.Settled)
		if n == 0 && len(found) == 0 || n > 0 && len(found) >= n {
			return
		}
	}
	t.Fatalf("there are the processes %v; want %d", found, n)
}

// stay is a program whose actions never end; each leaves a process in a session of its own.
const stay = `
fn main(input: [n], output: [all]):
    numbers = range(n)
    all = spread numbers:i -> @stay(i=i)
    return all
`

const stayActions = `
actions:
  stay: {process: [sh, -c, "trap '' TERM HUP INT; setsid sleep 600 & while :; do sleep 600; done"]}
`

// The actions ignore every signal but SIGKILL.
func TestKilledEnginesLeaveNothing(t *testing.T) {
	needPrograms(t, "sh", "setsid")
	t.Parallel()
	dir := t.TempDir()
	j := newJob(`{"n": 10}`)
	j.Actions, j.Program = filepath.Join(dir, "actions.yaml"), filepath.Join(dir, "stay.ir")
	if err := errors.Join(os.WriteFile(j.Actions, []byte(stayActions), 0o600), os.WriteFile(j.Program, []byte(stay), 0o600)); err != nil {
		t.Fatal(err)
	}
	mark := uuid.NewString()
	cmd, out := j.start(t, mark)
	awaitProcesses(t, mark, 1+3*10) // the engine, and for each attempt a shell and two that sleep
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(out); err != nil || len(text) > 0 {
		t.Errorf("the engine said %q, %v", text, err)
	}
	awaitProcesses(t, mark, 0)
}

// The store survives the engines, and the last engine is not killed.
func TestEnginesKilledAtRandom(t *testing.T) {
	needPrograms(t, "sh", "sed", "perl", "python3")
	t.Parallel()
	const want = "completed: 2480\n" // 10 × (8 + … + 23): the first of the three chunks has a score of 0
	seed := depth.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	mark := uuid.NewString()
	j := newJob(`{"fan_out": 24, "loop_iters": 3}`)
	j.Backend, j.DSN, j.Schema = "push", pgtest.DSN(t), pgtest.Schema(t)
	kills, ends := depth.Of(5, 200), 0
	j.Deliveries = kills + 1 // on a slow machine, every kill may hit the same attempt
	for killed := 0; killed < kills; {
		cmd, out := j.start(t, mark)
		_ = pause.For(t.Context(), time.Duration(random.IntN(1500))*time.Millisecond)
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		switch said, err := io.ReadAll(out); {
		case err == nil && string(said) == want: // it was faster than the kill: the next engine begins anew
			j.ID = uuid.Must(uuid.NewV7())
			ends++
		case err != nil || len(said) > 0:
			t.Fatalf("after %d kills of seed %d, an engine says %q, %v", killed, seed, said, err)
		default:
			killed++
		}
		awaitProcesses(t, mark, 0)
	}
	_, out := j.start(t, mark)
	if said, err := io.ReadAll(out); err != nil || string(said) != want {
		t.Errorf("after %d kills of seed %d, the last engine says %q, %v", kills, seed, said, err)
	}
	awaitProcesses(t, mark, 0)
	depth.Done(t, "kills=%d ends=%d", kills, ends+1)
}
