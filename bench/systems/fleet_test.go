package systems

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/bench/measure"
	"pulley/internal/pgtest"
	"pulley/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sharing{m}) }

// sharing runs the tests with a server that they share.
type sharing struct{ m *testing.M }

func (s sharing) Run() int { return pgtest.Run(s.m) }

// unheard is short, so that silence is noticed soon: an end that comes later is found too early, and only noted.
const unheard = 300 * time.Millisecond

var memory = []string{"python3", "testdata/memory.py"}

// graphs are those of a scenario as the system in memory runs them.
func graphs(t *testing.T, s System, word string) *workload.Mix {
	t.Helper()
	name, size, _, err := scenarios.ParseName(word)
	if err != nil {
		t.Fatal(err)
	}
	found, err := scenarios.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	mix, err := found.Mix(size, scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var both [2]*workload.Mix
	for i := range both {
		if both[i], err = workload.OfMix(mix, workload.Options{Repeat: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.Graphs(both[0], both[1])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func greet(t *testing.T, settings map[string]string) System {
	t.Helper()
	s, err := Greet(t.Context(), "", memory)
	if err != nil {
		t.Fatal(err)
	}
	s.Settings = s.Has(settings)
	return s
}

// runMemory makes one run of eight instances of a loop.
func runMemory(t *testing.T, ctx context.Context, settings map[string]string, report protocol.Report) (*Run, error) {
	t.Helper()
	t.Parallel()
	s := greet(t, settings)
	m := graphs(t, s, "loop=3")
	f, err := Open(t.Context(), Config{System: s, DSN: pgtest.DSN(t), Workloads: m.Workloads(), Processes: 1, Unheard: unheard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	costsNothingIdle(t, f, report)
	return f.RunClosed(ctx, Closed{Graphs: m, Instances: 8, InFlight: 3, Slots: 4, Report: report}, measure.NewProcessors(nil))
}

// costsNothingIdle measures again if something was committed: the server's own vacuum commits in every database now and then, and on a
// busy machine it has the time to.
func costsNothingIdle(t *testing.T, f *Fleet, report protocol.Report) {
	t.Helper()
	for range 5 {
		idle, err := f.Idle(t.Context(), 4, report)
		if err != nil || idle.Commits == nil {
			t.Fatalf("the cost without work is %v: %v", idle, err)
		}
		if *idle.Commits == 0 {
			return
		}
	}
	t.Error("a system that uses no database commits something each time, without work")
}

func TestRunClosed(t *testing.T) {
	run, err := runMemory(t, t.Context(), map[string]string{"pause_ms": "0"}, protocol.ReportTasks)
	if err != nil || len(run.Problems) > 0 {
		t.Fatalf("%v, %+v", err, run)
	}
	if len(run.Spans) != 8 || run.Repeated != 0 || run.Hops.Count() < 8*2 || run.Elapsed <= 0 || run.Fairness == nil {
		t.Errorf("%d ends, %d executions repeated, %d hops in %v", len(run.Spans), run.Repeated, run.Hops.Count(), run.Elapsed)
	}
	if run.CPU == nil || run.CPU.ProcessNS < 0 {
		t.Errorf("the processor time of the processes is %v", run.CPU)
	}
}

// Each mistake of a system makes its run count for nothing, and is named.
func TestRunClosedFindsMistakes(t *testing.T) {
	for fault, want := range map[string]string{
		"sum":    "the sum is 5, not ",
		"failed": "ended as failed: it failed",
		"twice":  "ended twice",
		"die":    "exit status 1",
		"skip":   "were executed",
	} {
		t.Run(fault, func(t *testing.T) {
			run, err := runMemory(t, t.Context(), map[string]string{"fault": fault, "pause_ms": "0"}, protocol.ReportTasks)
			if err != nil || !strings.Contains(strings.Join(run.Problems, "\n"), want) {
				t.Errorf("%v: the problems are %q, not %q", err, run.Problems, want)
			}
		})
	}
}

// An end that no process reports is found in the store, when nothing else happens.
func TestRunClosedFindsSilentEnds(t *testing.T) {
	run, err := runMemory(t, t.Context(), map[string]string{"fault": "silent", "pause_ms": "0"}, protocol.ReportEnds)
	if err != nil || len(run.Problems) > 0 || len(run.Spans) != 8 {
		t.Fatalf("%v, %+v", err, run)
	}
	if !slices.Contains(run.Notes, "an end was not reported, and was found in the store") {
		t.Errorf("the notes are %q", run.Notes)
	}
}

func TestRunClosedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if run, err := runMemory(t, ctx, nil, protocol.ReportEnds); err == nil && len(run.Problems) == 0 {
		t.Errorf("a run that was ended counts: %+v", run)
	}
}

func TestOpenTellsWhatTheSystemRefuses(t *testing.T) {
	s := greet(t, map[string]string{"pause_ms": "soon"})
	_, err := Open(t.Context(), Config{System: s, DSN: pgtest.DSN(t), Processes: 1})
	if err == nil || !strings.Contains(err.Error(), "making the store of memory: adapter process 0 refused: pause_ms is no number; write one") {
		t.Errorf("the error is %v", err)
	}
}

func TestGraphsNamesWhatIsMissing(t *testing.T) {
	s := greet(t, nil)
	s.Hello.Shapes = []protocol.Shape{protocol.ShapeSingle}
	m := &workload.Mix{Graphs: []*workload.Graph{{Workload: protocol.Workload{
		Name: "pair", Tasks: []protocol.Task{{Name: "a"}, {Name: "b", Needs: []string{"a"}}}, Result: "b",
	}}}, Order: []int{0}}
	if _, err := s.Graphs(m, m); err == nil || err.Error() != "memory cannot run pair: it has no [graph]" {
		t.Errorf("the error is %v", err)
	}
}
