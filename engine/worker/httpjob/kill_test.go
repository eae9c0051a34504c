package httpjob_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob"
	"pulley/engine/worker/httpjob/jobserver"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// engineVariable, an engineConfig, makes this test binary an engine whose actions are jobs.
const engineVariable = "PULLEY_TEST_HTTPJOB_ENGINE"

type engineConfig struct {
	DSN, Schema, URL string
	Dialect          httpjob.Dialect
	Slots            int
}

// An attempt is delivered again after two thirds of the lease at the earliest, and the server shows what it started long
// before.
const (
	lifetime     = time.Second
	lease        = 3 * time.Second
	awaitVisible = 3 * time.Second
	poll         = 300 * time.Millisecond
	listLag      = 200 * time.Millisecond // half of it for some executions
)

const jobName = "projects/p/locations/l/jobs/j"

const fanSource = `fn main(input: [first, count], output: [r]):
    all = spread range(first, first + count):i -> @work(i=i)
    return sum(all)
`

// The child process prints "ready", and stops when its input ends.
func TestChildEngine(t *testing.T) {
	text := os.Getenv(engineVariable)
	if text == "" {
		return
	}
	var c engineConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func openStore(ctx context.Context, dsn, schema string) (backend.Backend, error) {
	spec, err := designs.Parse("push")
	if err != nil {
		return nil, err
	}
	return spec.Open(ctx, designs.OpenOptions{DSN: dsn, Schema: schema})
}

func (c engineConfig) run(ctx context.Context) error {
	store, err := openStore(ctx, c.DSN, c.Schema)
	if err != nil {
		return err
	}
	defer store.Close()
	jobs, err := httpjob.New(httpjob.Config{
		Dialect: c.Dialect, URL: c.URL, Poll: poll, VisibilityDelay: awaitVisible, RetryMin: 20 * time.Millisecond, RetryMax: time.Second,
	})
	if err != nil {
		return err
	}
	job := httpjob.Job{AtOnce: c.Slots}
	if c.Dialect == httpjob.CloudRun {
		job.Name = jobName
		job.Overrides.ResultURL = c.URL + "/results/${pulley.key}"
	}
	work, err := jobs.Func(job)
	if err != nil {
		return err
	}
	actions, err := worker.NewRegistry(worker.Action{Name: "work", Run: work})
	if err != nil {
		return err
	}
	e, err := engine.New(engine.Config{
		Backend: store, Workers: actions, Slots: c.Slots, Lease: lease, Sweep: lease,
		MaxDeliveries: 1_000_000, // jobs do not kill engines
	})
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.Join(e.Stop(ctx), jobs.Close(ctx))
}

// With many jobs, an engine that is killed every second, and a server with faults, each job must be started once, and all must
// end.
func TestEnginesThatAreKilled(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	for _, d := range []httpjob.Dialect{httpjob.Plain, httpjob.CloudRun} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			killEngines(t, d, depth.Of(60, 1000))
		})
	}
}

func killEngines(t *testing.T, d httpjob.Dialect, many int) {
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	seed := depth.Seed(t)
	t.Logf("%s=%d", depth.SeedVariable, seed)
	server := jobserver.New(jobserver.Config{
		Seed: seed, ListLag: listLag / 2, ListUneven: listLag / 2, Behave: behave,
		Faults: jobserver.Faults{
			Errors: 0.05, ErrorsAfter: 0.05, Lost: 0.1, Throttled: 0.05, RetryAfter: time.Second,
			SlowBefore: 0.05, SlowAfter: 0.05, SlowTime: 100 * time.Millisecond,
		},
	})
	hs := httptest.NewServer(server)
	defer hs.Close()
	c := engineConfig{Dialect: d, URL: hs.URL, Slots: many}
	if d == httpjob.Plain {
		c.URL += "/jobs"
	}
	c.DSN, c.Schema = pgtest.SharedSchema(t, "push")
	store, err := openStore(ctx, c.DSN, c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ids, want := submitFans(ctx, t, store, many)
	kills := 0
	for !allEnded(ctx, t, store, ids, nil) {
		started, told := server.Progress()
		child := startEngine(ctx, t, c)
		for range pause.Ticks(ctx, lifetime) { // repeated, since an engine on a slow machine may not do anything in one lifetime
			if s, e := server.Progress(); e == many || s+e > started+told {
				break
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("after %d engines: %v; of %d jobs, %d were started, and of %d the end was told", kills, ctx.Err(), many, started, told)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		kills++
	}
	allEnded(ctx, t, store, ids, want)
	starts, wrong := server.Starts(), 0
	for key, n := range starts {
		if n != 1 {
			wrong++
			t.Errorf("the job of %s was started %d times", key, n)
		}
	}
	if len(starts) != many {
		t.Errorf("%d jobs were started, want %d", len(starts), many)
	}
	if n := len(server.Cancels()); n > 0 || server.Active() > 0 {
		t.Errorf("%d jobs were cancelled, %d still run", n, server.Active())
	}
	if kills < 2 { // the longest jobs outlive an engine
		t.Errorf("only %d engines were killed before the jobs had ended", kills)
	}
	depth.Done(t, "jobs=%d kills=%d requests=%d started_twice=%d", many, kills, server.Requests(), wrong)
}

func behave(s jobserver.Start) jobserver.Behaviour {
	var args struct{ I int }
	if err := json.Unmarshal(s.Args, &args); err != nil {
		return jobserver.Behaviour{Fails: true, Message: err.Error()}
	}
	return jobserver.Behaviour{After: time.Duration(1+args.I%8) * time.Second, Result: json.RawMessage(fmt.Sprint(args.I))}
}

func submitFans(ctx context.Context, t *testing.T, store backend.Backend, many int) (ids []uuid.UUID, want []string) {
	t.Helper()
	program, err := plan.CompileText("fan.ir", []byte(fanSource), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const fans = 5
	var subs []backend.Submission
	for first := 0; first < many; first += many / fans {
		id, count := uuid.New(), many/fans
		subs = append(subs, backend.Submission{ID: id, Program: program, Input: json.RawMessage(fmt.Sprintf(`{"first": %d, "count": %d}`, first, count))})
		ids, want = append(ids, id), append(want, fmt.Sprint(count*(2*first+count-1)/2))
	}
	if _, err := store.Submit(ctx, subs, backend.Grant{Owner: "test", Lease: lease}); err != nil {
		t.Fatal(err)
	}
	return ids, want
}

func allEnded(ctx context.Context, t *testing.T, store backend.Backend, ids []uuid.UUID, want []string) bool {
	t.Helper()
	found, err := store.Lookup(ctx, ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, inst := range found {
		if want != nil && (inst.Status != backend.Completed || string(inst.Result) != want[i]) {
			t.Errorf("instance %d is %s with %s, %v; want %s", i, inst.Status, inst.Result, inst.Failure, want[i])
		}
	}
	return !slices.ContainsFunc(found, func(i backend.Instance) bool { return i.Status == backend.Running })
}

// startEngine waits until the engine runs. The process ends with ctx, and with this process.
func startEngine(ctx context.Context, t *testing.T, c engineConfig) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChildEngine$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), engineVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(stdout)
	for said.Scan() {
		if strings.TrimSpace(said.Text()) == "ready" {
			return cmd
		}
	}
	t.Fatalf("an engine ended before it was ready: %v, %v", said.Err(), cmd.Wait())
	return nil
}
