package wfformat

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pulley/engine/graph"
)

// traceFiles are all those in PULLEY_WFINSTANCES or, if unset, in the folder of recorded traces next to the project. If there
// are none, they are generated, so that every test runs on every machine.
func traceFiles(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("PULLEY_WFINSTANCES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "wfinstances")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PULLEY_WFINSTANCES") != "" && len(files) == 0 {
		t.Fatalf("PULLEY_WFINSTANCES is %s, where there is no *.json", dir)
	}
	dir = t.TempDir()
	for _, trace := range generated(t) {
		path := filepath.Join(dir, trace.Name+".json")
		if err := os.WriteFile(path, written(t, trace), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	t.Logf("%d trace files", len(files))
	return files
}

func generated(t *testing.T) []*Trace {
	t.Helper()
	var traces []*Trace
	for _, shape := range Shapes() {
		for _, tasks := range []int{8, 9, 17, 150} {
			trace, err := Generate(shape, tasks, uint64(tasks))
			if err != nil {
				t.Fatal(err)
			}
			traces = append(traces, trace)
		}
	}
	return traces
}

func written(t testing.TB, trace *Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, trace); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var notWritten = cmpopts.IgnoreFields(Trace{}, "File", "Warnings", "SchemaVersion")

// A plain JSON reader must find the same in the file. The trace is also built as a graph, written and read again.
func TestTraceFiles(t *testing.T) {
	for _, path := range traceFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			trace, err := ReadFile(path, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if err := trace.Check(); err != nil {
				t.Error(err)
			}
			compareWithFile(t, path, trace)
			compareWithGraph(t, trace)
			text := written(t, trace)
			again, err := Parse("again.json", text, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(trace, again, notWritten); diff != "" {
				t.Errorf("written and read again, want -, got +:\n%s", diff)
			}
			if !bytes.Equal(text, written(t, again)) {
				t.Error("written again, the bytes differ")
			}
		})
	}
}

// plainTask is a task as a reader that knows nothing of this package sees it, in any layout.
type plainTask struct {
	ID, Name          string
	Parents, Children []string
	InputFiles        []string
	Seconds           float64 `json:"runtimeInSeconds"`
	Runtime           float64
}

// refer returns what refers to a task: ids in version 1.5, names in earlier versions, where an id is optional.
func plainTasks(t *testing.T, path string) (tasks []plainTask, seconds map[string]float64, refer func(Task) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Workflow struct {
			Specification, Execution struct{ Tasks []plainTask }
			Tasks, Jobs              []plainTask
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	w, seconds := file.Workflow, map[string]float64{}
	if len(w.Specification.Tasks) > 0 {
		for _, task := range w.Execution.Tasks {
			seconds[task.ID] = task.Seconds
		}
		return w.Specification.Tasks, seconds, func(t Task) string { return t.ID }
	}
	tasks = append(w.Tasks, w.Jobs...)
	for _, task := range tasks {
		seconds[task.Name] = task.Seconds + task.Runtime // only one of them is set
	}
	return tasks, seconds, func(t Task) string { return t.Name }
}

func compareWithFile(t *testing.T, path string, trace *Trace) {
	t.Helper()
	tasks, seconds, refer := plainTasks(t, path)
	type pair struct{ parent, child string }
	edges := map[pair]bool{}
	if len(tasks) != len(trace.Tasks) {
		t.Fatalf("%d tasks; the file has %d", len(trace.Tasks), len(tasks))
	}
	for i, plain := range tasks {
		task := trace.Tasks[i]
		self := refer(task)
		for _, p := range plain.Parents {
			edges[pair{p, self}] = true
		}
		for _, c := range plain.Children {
			edges[pair{self, c}] = true
		}
		if plain.ID != "" && task.ID != plain.ID || task.Name != plain.Name || task.RuntimeSeconds != seconds[self] || len(task.Inputs) < len(plain.InputFiles) {
			t.Errorf("task %d is %+v; the file has %+v", i, task, plain)
		}
	}
	for _, task := range trace.Tasks {
		for _, p := range task.Parents {
			if !edges[pair{refer(trace.Tasks[p]), refer(task)}] {
				t.Errorf("edge %s → %s is not in the file", trace.Tasks[p].ID, task.ID)
			}
		}
	}
	if trace.Edges() != len(edges) {
		t.Errorf("%d edges; the file has %d", trace.Edges(), len(edges))
	}
}

// A graph has one node per task, one edge per dependency, and those from the input and to the output.
func compareWithGraph(t *testing.T, trace *Trace) {
	t.Helper()
	g, err := trace.Graph(GraphOptions{TimeScale: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	actions, edges := 0, 0
	for _, n := range g.Nodes {
		if n.Kind == graph.Action {
			actions++
			edges += len(g.In(n.ID))
		}
	}
	if want := trace.Edges() + len(trace.Roots()); actions != len(trace.Tasks) || edges != want {
		t.Errorf("the graph has %d actions and %d edges to them; want %d and %d", actions, edges, len(trace.Tasks), want)
	}
}

func TestWriteRefuses(t *testing.T) {
	good := func() *Trace {
		return &Trace{Name: "w", Tasks: []Task{{ID: "a", Name: "a"}, {ID: "b", Name: "b", Parents: []int{0}}}}
	}
	cases := map[string]func(*Trace){
		`trace: no tasks`:                                                                  func(t *Trace) { t.Tasks = nil },
		`trace: task 1 has no id or no name`:                                               func(t *Trace) { t.Tasks[1].ID = "" },
		`trace: task id "a" stands twice`:                                                  func(t *Trace) { t.Tasks[1].ID = "a" },
		`trace: task "a" depends on itself; take it out of its own list`:                   func(t *Trace) { t.Tasks[0].Parents = []int{0} },
		`trace: task "b": parents must be indices of tasks, ascending`:                     func(t *Trace) { t.Tasks[1].Parents = []int{2} },
		`trace: task "a": the run time -1 is negative; give seconds, 0 if it is not known`: func(t *Trace) { t.Tasks[0].RuntimeSeconds = -1 },
	}
	for want, corrupt := range cases {
		var b bytes.Buffer
		trace := good()
		if err := Write(&b, trace); err != nil {
			t.Fatalf("a right trace: %v", err)
		}
		corrupt(trace)
		b.Reset()
		if err := Write(&b, trace); err == nil || err.Error() != want || b.Len() > 0 {
			t.Errorf("got %v and %d bytes, want %s and none", err, b.Len(), want)
		}
	}
}

// No text may panic, or be accepted although it is no trace.
func FuzzParse(f *testing.F) {
	f.Add([]byte(current))
	f.Add([]byte(tasksOf(`{"id":"a","children":["b"]},{"id":"b","parents":["a","a"],"runtimeInSeconds":1e-3}`)))
	f.Add([]byte(`{"workflow":{"jobs":[{"name":"a\u0000\ud800","files":[{"name":"x","size":1e30}]},{"name":"b","parents":["a"]}]}}`))
	f.Add([]byte("\xef\xbb\xbf{\"a\\\"\":[{}, [ ] ,-0.0e+1,null],\"workflow\":null}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := Parse("f.json", data, Limits{Bytes: 1 << 16, Tasks: 100, Edges: 1000})
		if err != nil {
			if msg := err.Error(); len(msg) > 2000 || bytes.ContainsAny([]byte(msg), "\n\r\x00\x1b") {
				t.Errorf("the message is no line: %q", msg)
			}
			return
		}
		if err := trace.Check(); err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again.json", written(t, trace), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trace, again, notWritten, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("written and read again, want -, got +:\n%s", diff)
		}
		if _, err := trace.Graph(GraphOptions{TimeScale: 1}); err != nil {
			t.Error(err)
		}
	})
}
