package own

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pulley/adapter"
	"pulley/adapter/protocol"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewIsRefused(t *testing.T) {
	for design, want := range map[string]string{
		"memory": "the design memory keeps nothing that several processes could share; choose another one",
		"pusch":  `there is no backend "pusch", did you mean "push"?`,
	} {
		if _, err := New(design, ""); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", design, err, want)
		}
	}
	system, err := New("push", "1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = system.Configure(&adapter.Env{Settings: map[string]string{"lease_ms": "2000", "poll_ms": "5", "sweep_ms": "1"}})
	if err == nil || err.Error() != "there is no database; the design stores its state in Postgres" {
		t.Errorf("without a database: %v", err)
	}
}

// layered is a graph of n tasks in rows, each of which needs some of the row above; those of the last row are needed by nobody.
func layered(name string, n, row int) protocol.Workload {
	w := protocol.Workload{Name: name}
	for i := range n {
		t := protocol.Task{Name: fmt.Sprintf("task %d of %q \u00e9", i, name), Add: int64(i)}
		for need := range min(row, 3) {
			if at := i - row + (i+need)%row - i%row; i >= row && at >= 0 {
				t.Needs = append(t.Needs, w.Tasks[at].Name)
			}
		}
		w.Tasks = append(w.Tasks, t)
	}
	w.Result = w.Tasks[n/2].Name
	return w
}

// joined is n tasks, and one that needs them all.
func joined(name string, n, bytes int) protocol.Workload {
	w, last := protocol.Workload{Name: name, Result: "last"}, protocol.Task{Name: "last", Add: 1}
	for i := range n {
		w.Tasks = append(w.Tasks, protocol.Task{Name: fmt.Sprint(i), Add: int64(i), Bytes: bytes})
		last.Needs = append(last.Needs, fmt.Sprint(i))
	}
	w.Tasks = append(w.Tasks, last)
	return w
}

func testedWorkloads() []protocol.Workload {
	rounds := layered("rounds", 12, 4)
	rounds.Repeat = 30
	large := joined("large", 3, 1<<20+1)
	large.Repeat = 2
	large.Tasks[3].Bytes = 1 << 20
	failing := layered("failing", 6, 2)
	for i := range failing.Tasks {
		failing.Tasks[i].Fails = i % 3
	}
	single := protocol.Workload{Name: "single", Tasks: []protocol.Task{{Name: "a", Add: 5, Fails: 7}}, Result: "a", Repeat: 1}
	n := depth.Of(300, 5000)
	return []protocol.Workload{layered("rows", n, 50), joined("wide", n, 0), rounds, large, failing, single}
}

// play has a system run one instance of each workload, and returns what it wrote.
func play(t *testing.T, system adapter.System, workloads []protocol.Workload) (reports []protocol.Response) {
	t.Helper()
	in, pulley := io.Pipe()
	lines, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- adapter.Serve(t.Context(), in, out, system)
		_ = out.Close()
	}()
	write := func(r protocol.Request) {
		line, err := r.Line()
		if err == nil {
			_, err = pulley.Write(line)
		}
		if err != nil {
			t.Error(err)
		}
	}
	var instances []protocol.Instance
	for _, w := range workloads {
		instances = append(instances, protocol.Instance{ID: "i." + w.Name, Workload: w.Name})
	}
	go func() {
		write(protocol.Request{Kind: protocol.KindHello, Version: protocol.Version})
		write(protocol.Request{Kind: protocol.KindSetup, Create: true, Store: &protocol.Store{}, Workloads: workloads})
		write(protocol.Request{Kind: protocol.KindOpen, Slots: 8, Report: protocol.ReportTasks})
		write(protocol.Request{Kind: protocol.KindSubmit, Batch: 1, Instances: instances})
		write(protocol.Request{Kind: protocol.KindSubmit, Batch: 2, Instances: instances})
	}()
	open := len(instances)
	for reader := bufio.NewReader(lines); ; {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := protocol.ParseResponse(line)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == protocol.KindProblem || r.Kind == protocol.KindError {
			t.Errorf("%s: %s", r.Kind, r.Message)
		}
		if reports = append(reports, r); r.Kind == protocol.KindEnded {
			if open--; open == 0 {
				go func() {
					var ids []string
					for _, i := range instances {
						ids = append(ids, i.ID)
					}
					write(protocol.Request{Kind: protocol.KindLook, Batch: 3, IDs: append(ids, "unknown")})
					write(protocol.Request{Kind: protocol.KindStop})
				}()
			}
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return reports
}

// TestWorkloads runs graphs of every shape on the design that needs no database.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	spec, err := designs.Parse("memory")
	if err != nil {
		t.Fatal(err)
	}
	workloads := testedWorkloads()
	reports := play(t, &System{spec: spec, settings: defaults}, workloads)
	ends, states := map[string]protocol.Response{}, map[string]protocol.State{}
	for _, r := range reports {
		if r.Kind == protocol.KindEnded {
			ends[r.Instance] = r
		}
		for _, s := range r.States {
			states[s.ID] = s
		}
	}
	for i := range workloads {
		w := &workloads[i]
		id := "i." + w.Name
		checkReports(t, w, slices.DeleteFunc(slices.Clone(reports), func(r protocol.Response) bool { return r.Instance != id }))
		v, err := protocol.ParseValue(ends[id].Value)
		if err != nil || v.Sum != w.Sum() || ends[id].Status != protocol.Completed {
			t.Errorf("%s ended with %.100v, %v; its sum is %d", w, ends[id], err, w.Sum())
		}
		if s := states[id]; s.Status != protocol.Completed || s.Value != ends[id].Value {
			t.Errorf("%s: the store says %.100v", w, s)
		}
	}
	if s := states["unknown"]; s.Status != protocol.Unknown {
		t.Errorf("the store says of an unknown instance %v", s)
	}
}

// checkReports checks the order of an instance's reports: each task once in a round, after its needs, with their values, and the end last.
func checkReports(t *testing.T, w *protocol.Workload, reports []protocol.Response) {
	t.Helper()
	values, failed, executed := map[string]string{}, 0, 0
	key := func(task string, round int) string { return fmt.Sprint(task, "#", round) }
	for n, r := range reports {
		switch r.Kind {
		case protocol.KindStarted:
			want := map[string]string{}
			for _, need := range w.Task(r.Task).Needs {
				want[need] = values[key(need, r.Round)]
			}
			if len(want) == 0 && r.Round > 1 {
				want[protocol.Previous] = values[key(w.Result, r.Round-1)]
			}
			if !maps.Equal(r.Inputs, want) {
				t.Errorf("%s: task %s of round %d has other inputs than its needs gave", w, r.Task, r.Round)
			}
		case protocol.KindFailed:
			failed++
		case protocol.KindFinished:
			executed++
			values[key(r.Task, r.Round)] = r.Value
		case protocol.KindEnded:
			if n != len(reports)-1 {
				t.Errorf("%s: it ended before %d reports", w, len(reports)-1-n)
			}
		}
	}
	fails := 0
	for _, task := range w.Tasks {
		fails += task.Fails * max(1, w.Repeat)
	}
	if executed != w.Executions() || len(values) != executed || failed != fails {
		t.Errorf("%s: %d tasks finished, %d of them for the first time, and %d attempts failed; want %d and %d", w, executed, len(values), failed, w.Executions(), fails)
	}
}

// TestMistakesFailTheirInstance checks that an execution that is none ends its instance with a reason, which is reported.
func TestMistakesFailTheirInstance(t *testing.T) {
	o := newOutbox()
	id := uuidOf("i1")
	o.expectFailure(id, "i1")
	o.problem(context.DeadlineExceeded)
	for range 2 * problemsMost {
		o.problem(io.EOF)
	}
	r := &running{workloads: map[string]*workload{}, reports: o}
	program, err := Program(&protocol.Workload{Name: "none", Tasks: []protocol.Task{{Name: "a"}}, Result: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", `{"instance": "i1"}`} {
		if _, failure := r.Execute(t.Context(), taskOf(id, program, json.RawMessage(text))); failure == nil || failure.Type == typeScripted {
			t.Errorf("%s: %v", text, failure)
		}
	}
	o.ended(failedInstance(id), time.Now())
	o.close()
	ends, problems, more := o.take()
	if len(ends) != 1 || ends[0].ID != "i1" || ends[0].Status != protocol.Failed || !strings.Contains(ends[0].Message, "no such") || more {
		t.Errorf("%v, %v", ends, more)
	}
	if n := len(problems); n != problemsMost+1 || !strings.Contains(problems[n-1].Error(), "101 more problems") {
		t.Errorf("%d problems, %v", n, problems[n-1])
	}
}

func taskOf(id uuid.UUID, program *plan.Program, args json.RawMessage) backend.Task {
	return backend.Task{Lease: backend.Lease{Key: backend.Key{Instance: id, Run: graph.Run{Node: 1}}}, Program: program, Action: actionTask, Args: args, Attempt: 1}
}

func failedInstance(id uuid.UUID) backend.Instance {
	return backend.Instance{ID: id, Status: backend.Failed, Failure: &plan.Failure{Type: "Error", Message: "no such workload"}}
}
