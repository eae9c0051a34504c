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

// traceFiles gives trace files to read: all those in PULLEY_WFINSTANCES or, without it, in the folder
// that stands beside the project on machines that have recorded traces. Where there are none, it
// writes generated ones, so that every test that asks runs on every machine.
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

// generated makes traces of every shape and of sizes from the smallest on.
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

func written(t *testing.T, trace *Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, trace); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// notWritten are the fields that a file does not carry.
var notWritten = cmpopts.IgnoreFields(Trace{}, "File", "Warnings", "SchemaVersion")

// TestTraceFiles reads every trace and compares it with what a plain JSON reader finds in the file;
// then makes its graph, and writes it and reads it again.
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

// plainTask is a task to a reader that knows nothing of this package.
type plainTask struct {
	ID, Name          string
	Parents, Children []string
	InputFiles        []string
	Runtime           float64 `json:"runtimeInSeconds"`
}

// compareWithFile holds a trace against the tasks of a file in the layout of version 1.5.
func compareWithFile(t *testing.T, path string, trace *Trace) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Workflow struct{ Specification, Execution struct{ Tasks []plainTask } }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	type pair struct{ parent, child string }
	edges, runtimes := map[pair]bool{}, map[string]float64{}
	for _, task := range file.Workflow.Specification.Tasks {
		for _, p := range task.Parents {
			edges[pair{p, task.ID}] = true
		}
		for _, c := range task.Children {
			edges[pair{task.ID, c}] = true
		}
	}
	for _, task := range file.Workflow.Execution.Tasks {
		runtimes[task.ID] = task.Runtime
	}
	if len(trace.Tasks) != len(file.Workflow.Specification.Tasks) || trace.Edges() != len(edges) {
		t.Errorf("%d tasks, %d edges; the file has %d and %d", len(trace.Tasks), trace.Edges(), len(file.Workflow.Specification.Tasks), len(edges))
	}
	for i, task := range trace.Tasks {
		plain := file.Workflow.Specification.Tasks[i]
		if task.ID != plain.ID || task.Name != plain.Name || task.RuntimeSeconds != runtimes[task.ID] || len(task.Inputs) != len(plain.InputFiles) {
			t.Errorf("task %d is %+v; the file has %+v", i, task, plain)
		}
		for _, p := range task.Parents {
			if !edges[pair{trace.Tasks[p].ID, task.ID}] {
				t.Errorf("edge %s → %s is not in the file", trace.Tasks[p].ID, task.ID)
			}
		}
	}
}

// compareWithGraph counts a graph's nodes and edges: one node per task, one edge per dependency, and
// those from the input and to the output.
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
	for want, spoil := range cases {
		var b bytes.Buffer
		trace := good()
		if err := Write(&b, trace); err != nil {
			t.Fatalf("a right trace: %v", err)
		}
		spoil(trace)
		b.Reset()
		if err := Write(&b, trace); err == nil || err.Error() != want || b.Len() > 0 {
			t.Errorf("got %v and %d bytes, want %s and none", err, b.Len(), want)
		}
	}
}

// FuzzParse looks for texts that panic, or that are taken although they are not what a trace is.
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
