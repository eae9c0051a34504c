package wfformat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// current is in the layout of version 1.5, with an ignored member of every kind, and tasks that are not in an order in which
// they can run.
const current = `{
  "name": "small", "description": "by hand", "createdAt": "2024-01-01T00:00:00Z",
  "schemaVersion": "1.5", "author": {"name": "x", "list": [1, {"a": [null, "]}"]}, true]},
  "workflow": {
    "specification": {
      "tasks": [
        {"name": "join", "id": "c", "parents": ["a", "b"], "children": [], "inputFiles": ["f", "g"]},
        {"name": "work", "id": "a", "parents": [], "children": ["c"], "outputFiles": ["f"]},
        {"name": "work", "id": "b", "parents": [], "children": ["c"], "outputFiles": ["g"], "x": -1.5e3}
      ],
      "files": [{"id": "f", "sizeInBytes": 10}, {"id": "g", "sizeInBytes": 0}]
    },
    "execution": {
      "makespanInSeconds": 12.5, "executedAt": "then",
      "tasks": [
        {"id": "a", "runtimeInSeconds": 2, "command": {"program": "p", "arguments": ["\"{\\", "é"]}},
        {"id": "b", "runtimeInSeconds": 10.25},
        {"id": "c", "runtimeInSeconds": 0}
      ],
      "machines": [{"nodeName": "m"}]
    }
  }
}`

func TestParseCurrentLayout(t *testing.T) {
	got, err := Parse("dir/small.json", []byte(current), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Trace{
		File: "dir/small.json", Name: "small", Description: "by hand",
		CreatedAt: "2024-01-01T00:00:00Z", ExecutedAt: "then", SchemaVersion: "1.5",
		Tasks: []Task{
			{ID: "c", Name: "join", Parents: []int{1, 2}, Inputs: []string{"f", "g"}},
			{ID: "a", Name: "work", Outputs: []string{"f"}, RuntimeSeconds: 2},
			{ID: "b", Name: "work", Outputs: []string{"g"}, RuntimeSeconds: 10.25},
		},
		Files:           []File{{"f", 10}, {"g", 0}},
		Machines:        []Machine{{Name: "m"}},
		MakespanSeconds: 12.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if got.Edges() != 2 || got.Depth() != 2 || got.CriticalPathSeconds() != 10.25 {
		t.Errorf("edges %d, depth %d, critical path %v; want 2, 2, 10.25", got.Edges(), got.Depth(), got.CriticalPathSeconds())
	}
	if !cmp.Equal(got.Roots(), []int{1, 2}) || !cmp.Equal(got.Sinks(), []int{0}) {
		t.Errorf("roots %v, sinks %v; want [1 2], [0]", got.Roots(), got.Sinks())
	}
	if got.Label() != "small" {
		t.Errorf("label %q", got.Label())
	}
}

// Versions 1.0 to 1.4 have tasks in the workflow itself, referred to by name, with their files.
func TestParseOlderLayouts(t *testing.T) {
	files := `"files": [{"link": "input", "name": "in", "%[1]s": 7}, {"link": "output", "name": "out", "%[1]s": -1}]`
	cases := map[string]string{
		"1.4 with ids": `{"name": "w", "schemaVersion": "1.4", "workflow": {"makespanInSeconds": 9, "executedAt": "then", "tasks": [
			{"name": "first_1", "id": "ID1", "type": "compute", "parents": [], "runtimeInSeconds": 1.5, ` + fmt.Sprintf(files, "sizeInBytes") + `},
			{"name": "second_2", "id": "ID2", "type": "compute", "parents": ["first_1"], "runtimeInSeconds": 2}]}}`,
		"1.2 with jobs and children": `{"name": "w", "schemaVersion": 1.2, "workflow": {"makespan": 9, "executedAt": "then", "jobs": [
			{"name": "first_1", "id": "ID1", "children": ["second_2"], "runtime": 1.5, ` + fmt.Sprintf(files, "size") + `},
			{"name": "second_2", "id": "ID2", "parents": ["first_1"], "runtime": 2}]}}`,
		"children only, references by id": `{"name": "w", "schemaVersion": "1.3", "workflow": {"makespan": 9, "executedAt": "then", "tasks": [
			{"name": "first_1", "id": "ID1", "children": ["ID2"], "runtime": 1.5, ` + fmt.Sprintf(files, "size") + `},
			{"name": "second_2", "id": "ID2", "runtime": 2, "parents": null}]}}`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("w.json", []byte(text), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			want := &Trace{
				File: "w.json", Name: "w", ExecutedAt: "then", SchemaVersion: got.SchemaVersion, MakespanSeconds: 9,
				Tasks: []Task{
					{ID: "ID1", Name: "first_1", Inputs: []string{"in"}, Outputs: []string{"out"}, RuntimeSeconds: 1.5},
					{ID: "ID2", Name: "second_2", Parents: []int{0}, RuntimeSeconds: 2},
				},
				Files: []File{{"in", 7}, {"out", 0}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if !strings.HasPrefix(got.SchemaVersion, "1.") {
				t.Errorf("version %q", got.SchemaVersion)
			}
		})
	}
}

func tasksOf(tasks string) string {
	return `{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[` + tasks + `]},"execution":{"tasks":[]}}}`
}

func TestParseTakesWithWarning(t *testing.T) {
	cases := []struct {
		name, text string
		parents    [][]int
		warnings   []string
	}{
		{
			"sides that disagree",
			tasksOf(`{"id":"a","children":["b"]},{"id":"b","parents":[]},{"id":"c","parents":["a"]},{"id":"d","parents":["a"]}`),
			[][]int{nil, {0}, {0}, {0}},
			[]string{`3 edges are named by only one of their tasks, the first of them "a" → "b"; they count`, `4 of 4 tasks have no run time; it counts as 0`},
		},
		{
			"a parent twice",
			tasksOf(`{"id":"a","runtimeInSeconds":1},{"id":"b","runtimeInSeconds":1,"parents":["a","a"]}`),
			[][]int{nil, {0}},
			[]string{`1 parents stand twice in their list; each counts once`},
		},
		{
			"a run time for an unknown task, a makespan that cannot be",
			`{"name":"w","workflow":{"specification":{"tasks":[{"id":"a"}]},"execution":{"makespanInSeconds":-3,"tasks":[{"id":"z","runtimeInSeconds":1},{"id":"a","runtimeInSeconds":1}]}}}`,
			[][]int{nil},
			[]string{`1 run times are of tasks that the trace does not have; they are left out`, `the makespan is left out: the makespan -3 is negative; give seconds, 0 if it is not known`},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse("w.json", []byte(c.text), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var parents [][]int
			for _, task := range got.Tasks {
				parents = append(parents, task.Parents)
			}
			if diff := cmp.Diff(c.parents, parents); diff != "" {
				t.Errorf("parents, want -, got +:\n%s", diff)
			}
			for i := range c.warnings {
				c.warnings[i] = "w.json: " + c.warnings[i]
			}
			if diff := cmp.Diff(c.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings, want -, got +:\n%s", diff)
			}
		})
	}
}

// No message should repeat this name in full.
var long = strings.Repeat("x", 500)

var refused = []struct{ name, text, want string }{
	{"empty", " \n", `t.json: the file is empty; a WfFormat trace is a JSON object`},
	{"no JSON", "{\n \"a\": oops}", `t.json:2:7: not JSON: invalid character 'o' looking for beginning of value`},
	{"cut off", "{\n \"a\": [1", `t.json:2:8: not JSON: unexpected end of JSON input`},
	{"more behind it", "{}\n{}", `t.json:2:1: not JSON: invalid character '{' after top-level value`},
	{"not a number", `{"workflow":{"tasks":[{"id":"a","runtime":NaN}]}}`, `t.json:1:43: not JSON: invalid character 'N' looking for beginning of value`},
	{"not UTF-8", "{\"é\": \"\xff\"}", `t.json:1:8: not JSON: the text is not UTF-8; save it as such`},
	{"a list", `[1]`, `t.json:1:1: not WfFormat: the file holds a list; a trace is an object with workflow.specification.tasks`},
	{"another object", `{"name": "x", "Workflow": {}}`, `t.json: not WfFormat: there is no workflow; a trace has workflow.specification.tasks`},
	{"an empty workflow", `{"workflow": {}}`, `t.json: not WfFormat: workflow has neither a specification (version 1.5) nor tasks (before)`},
	{"a specification without tasks", `{"workflow": {"specification": {"files": []}}}`, `t.json: not WfFormat: workflow.specification has no tasks`},
	{"no task", tasksOf(``), `t.json: not WfFormat: the list of tasks is empty; a trace has at least one task`},
	{"tasks that are no list", `{"workflow": {"tasks": {"a": 1}}}`, `t.json:1:24: workflow.tasks: this is an object, and must be a list`},
	{"a workflow that is no object", `{"workflow": "x"}`, `t.json:1:14: workflow: this is a string, and must be an object`},
	{"a task that is no object", tasksOf("{\"id\":\"a\"},\n true"), `t.json:2:2: workflow.specification.tasks[1]: this is a truth value, and must be an object`},
	{"another version", `{"schemaVersion": "2.0", "workflow": {}}`, `t.json:1:19: schemaVersion: version "2.0" of the format is not known; versions 1.0 to 1.5 are`},
	{"a version that is none", `{"schemaVersion": [1]}`, `t.json:1:19: schemaVersion: this is a list, and must be a string`},
	{"a task without id", tasksOf(`{"parents": []}`), `t.json:1:73: workflow.specification.tasks[0]: this task has no id; give it one that no other task has`},
	{"an empty id", tasksOf(`{"id": ""}`), `t.json:1:80: workflow.specification.tasks[0].id: this must not be empty`},
	{"an id that is a number", tasksOf(`{"id": 4}`), `t.json:1:80: workflow.specification.tasks[0].id: this is a number, and must be a string`},
	{"an id twice", tasksOf("{\"id\":\"a\"},\n{\"id\":\"b\"},\n{\"id\":\"a\"}"), `t.json:3:1: workflow.specification.tasks[2]: the id "a" is that of the task on line 1 too; ids must be unique`},
	{"a member twice", tasksOf(`{"id":"a", "id":"b"}`), `t.json:1:84: workflow.specification.tasks[0]: "id" stands twice in this object; take one out`},
	{"an unknown parent", tasksOf(`{"id":"a"},` + "\n" + `{"id":"b","parents":["a", "zz"]}`), `t.json:2:27: workflow.specification.tasks[1].parents[1]: there is no task "zz"`},
	{"an unknown child", `{"workflow":{"tasks":[{"name":"a","children":["zz"]}]}}`, `t.json:1:47: workflow.tasks[0].children[0]: there is no task "zz"`},
	{"a name of two tasks", tasksOf(`{"id":"a","name":"n"},{"id":"b","name":"n"},` + "\n" + `{"id":"c","parents":["n"]}`), `t.json:2:22: workflow.specification.tasks[2].parents[0]: several tasks are named "n"; use their ids`},
	{"a parent that is null", tasksOf(`{"id":"a","parents":[null]}`), `t.json:1:94: workflow.specification.tasks[0].parents[0]: this is null, and must be a string`},
	{"a task that waits for itself", tasksOf("{\"id\":\"a\"},\n{\"id\":\"b\",\"parents\":[\"b\"]}"), `t.json:2:1: workflow.specification.tasks[1]: task "b" depends on itself; take it out of its own list`},
	{
		"a cycle", tasksOf("{\"id\":\"r\",\"children\":[\"a\"]},\n{\"id\":\"a\",\"children\":[\"b\"]},\n{\"id\":\"b\",\"children\":[\"c\"]},\n{\"id\":\"c\",\"children\":[\"a\"]},{\"id\":\"z\",\"parents\":[\"c\"]}"),
		`t.json:3:1: workflow.specification.tasks[2]: tasks depend on each other in a circle: "b" → "c" → "a" → "b"; one of these edges must go`,
	},
	{"a negative run time", tasksOf(`{"id":"a","runtimeInSeconds":-0.5}`), `t.json:1:102: workflow.specification.tasks[0].runtimeInSeconds: the run time -0.5 is negative; give seconds, 0 if it is not known`},
	{"a run time in nanoseconds", tasksOf(`{"id":"a","runtimeInSeconds":7e12}`), `t.json:1:102: workflow.specification.tasks[0].runtimeInSeconds: the run time 7e+12 is over 1e+09 seconds; is it in another unit?`},
	{"a run time beyond floats", tasksOf(`{"id":"a","runtimeInSeconds":1e999}`), `t.json:1:102: workflow.specification.tasks[0].runtimeInSeconds: "1e999" is no number that a computer can hold`},
	{"a run time as text", tasksOf(`{"id":"a","runtimeInSeconds":"NaN"}`), `t.json:1:102: workflow.specification.tasks[0].runtimeInSeconds: this is a string, and must be a number`},
	{
		"a task that ran twice", `{"workflow":{"specification":{"tasks":[{"id":"a"}]},"execution":{"tasks":[{"id":"a"},{"id":"a"}]}}}`,
		`t.json:1:92: workflow.execution.tasks[1].id: task "a" has run already; a task runs once`,
	},
	{"a run of nothing", `{"workflow":{"execution":{"tasks":[{"runtimeInSeconds":1}]}}}`, `t.json:1:36: workflow.execution.tasks[0]: this run of a task has no id; give it the id of a task of the specification`},
	{"a file without id", `{"workflow":{"specification":{"files":[{}]}}}`, `t.json:1:40: workflow.specification.files[0]: this file has no id; give it one`},
	{"an old file without name", `{"workflow":{"tasks":[{"name":"a","files":[{"link":"input"}]}]}}`, `t.json:1:44: workflow.tasks[0].files[0]: this file has no name; give it one`},
	{
		"hostile names", tasksOf(`{"id":"a\n\u0007` + long + `","parents":["\u001b[2J` + long + `"]}`),
		`t.json:1:602: workflow.specification.tasks[0].parents[0]: there is no task "\x1b[2J` + long[:56] + `…"`,
	},
}

func TestParseRefuses(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse("t.json", []byte(c.text), Limits{})
			var e *Error
			if got != nil || !errors.As(err, &e) {
				t.Fatalf("got %v, error %v; want no trace and an *Error", got, err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// The message about a cycle of any length must be short.
func TestParseLongCycle(t *testing.T) {
	const n = 1000
	var tasks []string
	for i := range n {
		tasks = append(tasks, fmt.Sprintf(`{"id":"t%d","parents":["t%d"]}`, i, (i+1)%n))
	}
	_, err := Parse("t.json", []byte(tasksOf(strings.Join(tasks, ",\n"))), Limits{})
	if err == nil || !strings.Contains(err.Error(), "(993 more)") || len(err.Error()) > 400 {
		t.Errorf("got %v", err)
	}
}

func TestParseLimits(t *testing.T) {
	text := []byte(tasksOf(`{"id":"a"},{"id":"b","parents":["a"]},{"id":"c","parents":["a","b"]}`))
	if _, err := Parse("t.json", text, Limits{Bytes: len(text), Tasks: 3, Edges: 3}); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	for _, c := range []struct {
		lim  Limits
		want string
	}{
		{Limits{Bytes: len(text) - 1}, "t.json: the file is over the limit of"},
		{Limits{Tasks: 2}, "t.json:1:111: workflow.specification.tasks[2]: there are more than 2 tasks;"},
		{Limits{Edges: 2}, "t.json:1:136: workflow.specification.tasks[2].parents[1]: there are more than 2 parents and children;"},
	} {
		_, err := Parse("t.json", text, c.lim)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s…", c.lim, err, c.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a trace.json")
	if err := os.WriteFile(path, []byte("\xef\xbb\xbf"+strings.Replace(current, `"name": "small", `, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "a trace" || got.Label() != "a trace" || len(got.Tasks) != 3 {
		t.Errorf("name %q, label %q, %d tasks; want the file's name and 3", got.Name, got.Label(), len(got.Tasks))
	}
	if _, err := ReadFile(path, Limits{Bytes: 100}); err == nil || !strings.Contains(err.Error(), "over the limit of 100 bytes") {
		t.Errorf("too large a file: %v", err)
	}
	for _, bad := range []string{filepath.Join(dir, "none.json"), dir} {
		_, err := ReadFile(bad, Limits{})
		if err == nil || !strings.HasPrefix(err.Error(), "cannot read the trace: ") || !strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
