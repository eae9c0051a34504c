package trial_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/adapter/judge"
	"pulley/adapter/mutants"
	"pulley/adapter/protocol"
	"pulley/adapter/trial"
	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/world"
	"pulley/engine/pgserver"
	"pulley/internal/depth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// root is the module's.
const root = "../.."

// workloads are a diamond and a single task.
var workloads = []protocol.Workload{
	{Name: "diamond", Tasks: []protocol.Task{
		{Name: "a", Add: 5, MS: 2}, {Name: "b", Needs: []string{"a"}, Add: 7, MS: 5}, {Name: "c", Needs: []string{"a"}, Add: 11, MS: 3}, {Name: "d", Needs: []string{"b", "c"}, Add: 13},
	}, Result: "d"},
	{Name: "one", Tasks: []protocol.Task{{Name: "x", Add: 3, MS: 10}}, Result: "x"},
}

func config(t *testing.T) trial.Config {
	return trial.Config{
		OpenServer: func(ctx context.Context) (*pgserver.Server, error) {
			return world.OpenServer(ctx, cases.Case{Engines: trial.ProcessesDefault}, nil, func(string) {})
		},
		Progress: func(line string) { t.Log(line) },
	}
}

// python returns the command of an adapter in Python.
func python(t *testing.T, file string) []string {
	t.Helper()
	depth.Needs(t, "other processes")
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return []string{program, path}
}

// faults makes a plan of kinds, in their order.
func faults(t *testing.T, seed uint64, names ...string) (plan []fault.Fault) {
	t.Helper()
	for _, name := range names {
		kind, err := fault.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, fault.Draw(seed, []fault.Kind{kind}, 1, trial.ProcessesDefault, fault.Timing{Lease: time.Second, Call: time.Second})...)
	}
	return plan
}

// The reference adapter keeps its promises when its processes are killed, its connections cut and its server is started again.
func TestReferenceKeepsItsPromises(t *testing.T) {
	t.Parallel()
	c := trial.Case{
		Command: python(t, filepath.Join(root, mutants.Reference)), Settings: map[string]string{"lease_ms": "1000"}, Workloads: workloads, Seed: 1, QuietMS: 1000,
		Faults: faults(t, 1, "process.kill", "wire.commits", "process.stop", "postgres.terminate", "process.pause", "postgres.immediate"),
	}
	if depth.Night() {
		c.Faults = trial.Draw(1, trial.Kinds(), trial.ProcessesDefault, 2*time.Minute, 3*time.Second)
		c.ExhaustMS = (2 * time.Minute).Milliseconds()
	}
	r, err := trial.Run(t.Context(), c, config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Log((&trial.Finding{First: r}).Text())
	if r.Outcome() == judge.Breaks {
		t.Error("it breaks its promises")
	}
	for _, q := range []*trial.Quiet{r.Before, r.After} {
		if q == nil || q.Tasks == 0 || q.LastedMS < c.QuietMS || q.WritesPerTask < 1 || q.WALBytesPerTask < 100 || q.ServerUSPerTask <= 0 || q.ProcessUSPerTask <= 0 {
			t.Errorf("a task of the reference adapter needs at least a transaction, and some WAL: %+v", q)
		}
	}
	for _, f := range c.Faults {
		if r.Faults[f.Kind] == 0 && r.Missed[f.Kind] == 0 {
			t.Errorf("%s was not tried", f.Kind)
		}
	}
	if n := r.Verdict.Counts; n.Kills == 0 || n.InstancesEnded < trial.ProcessesDefault || n.InstancesLost > 0 {
		t.Errorf("%+v", n)
	}
}

// Each planted bug is found, by a rule that it breaks.
func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	kills := []string{"process.kill", "process.kill", "process.kill"}
	bugs := map[string]struct {
		faults []string
		rules  []judge.Rule
	}{
		"done-before-executed":   {kills, []judge.Rule{"at-least-once", "value", "needs"}},
		"no-reclaim":             {kills, []judge.Rule{"recovers", "submit"}},
		"two-transactions":       {[]string{"wire.commits", "process.kill", "wire.commits"}, []judge.Rule{"recovers", "submit"}},
		"answered-before-commit": {kills, []judge.Rule{"submit"}},
	}
	// Whether others do nothing any more shows only after a long wait: they are for the night.
	for _, m := range depth.Of(mutants.All()[:1], mutants.All()) {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			file, err := m.Write(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			bug, known := bugs[m.Name]
			if !known {
				t.Fatal("the test does not know the bug; add what it breaks")
			}
			for seed := uint64(1); seed <= 5; seed++ {
				r, err := trial.Run(t.Context(), trial.Case{
					Command: python(t, file), Settings: map[string]string{"lease_ms": "1000"}, Workloads: workloads, Seed: seed, Faults: faults(t, seed, bug.faults...),
				}, config(t))
				if err != nil {
					t.Fatal(err)
				}
				if r.Outcome() != judge.Breaks {
					continue
				}
				for _, rule := range r.Rules() {
					for _, expected := range bug.rules {
						if rule == expected {
							return
						}
					}
				}
				t.Fatalf("it breaks %q, not one of %q", r.Rules(), bug.rules)
			}
			t.Error("it keeps its promises, with each of 5 seeds")
		})
	}
}

// Instances whose end nobody reports are looked at, and new ones take their places in the load.
func TestUnreportedEndsAreSeen(t *testing.T) {
	t.Parallel()
	const inFlight = 4
	r, err := trial.Run(t.Context(), trial.Case{
		Command: python(t, filepath.Join(root, "bench", "systems", "testdata", "memory.py")), Settings: map[string]string{"fault": "mute", "pause_ms": "0"},
		Workloads: workloads, Processes: 1, InFlight: inFlight, RecoversMS: 1,
	}, config(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Verdict.Counts; r.Outcome() != judge.Keeps || n.InstancesSubmitted <= inFlight || n.InstancesEnded != n.InstancesSubmitted {
		t.Errorf("%s, by %q; %+v", r.Outcome(), r.Doubts, n)
	}
}

// Without a run there is an error, of one line.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	command := python(t, filepath.Join(root, mutants.Reference))
	repeated := workloads[1]
	repeated.Repeat = 3
	for want, c := range map[string]trial.Case{
		"there is no program nosuchprogram":               {Command: []string{"nosuchprogram"}, Workloads: workloads},
		"has no setting \"lease\"":                        {Command: command, Workloads: workloads, Settings: map[string]string{"lease": "1"}},
		"cannot run the workload one: it has no [repeat]": {Command: command, Workloads: []protocol.Workload{repeated}},
	} {
		_, err := trial.Run(t.Context(), c, config(t))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, not %s", err, want)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	cfg := config(t)
	cfg.Progress = func(string) { cancel(because) }
	_, err := trial.Run(ended, trial.Case{Command: command, Workloads: workloads, LastMS: time.Hour.Milliseconds(), Faults: faults(t, 1, "wire.cut")}, cfg)
	if !errors.Is(err, because) {
		t.Error(err)
	}
}
