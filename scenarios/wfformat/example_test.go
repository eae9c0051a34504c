package wfformat_test

import (
	"fmt"

	"pulley/scenarios/wfformat"
)

// A trace states what a run of it must return.
func ExampleParse() {
	const text = `{"name": "two", "schemaVersion": "1.5", "workflow": {
		"specification": {"tasks": [
			{"id": "fetch", "name": "fetch", "parents": [], "children": ["count"]},
			{"id": "count", "name": "count", "parents": ["fetch"], "children": []}]},
		"execution": {"makespanInSeconds": 5, "executedAt": "then", "tasks": [
			{"id": "fetch", "runtimeInSeconds": 2}, {"id": "count", "runtimeInSeconds": 3}]}}}`
	trace, err := wfformat.Parse("two.json", []byte(text), wfformat.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(trace.Label(), len(trace.Tasks), "tasks", trace.CriticalPathSeconds(), "s")
	fetched := wfformat.TaskValue("fetch", nil)
	fmt.Println(string(trace.Expected()) == fmt.Sprintf("[%d]", wfformat.TaskValue("count", []int64{fetched})))
	// Output:
	// two 2 tasks 5 s
	// true
}

// A mistake is reported with its place.
func ExampleParse_mistake() {
	_, err := wfformat.Parse("odd.json", []byte(`{"workflow": {"tasks": [
  {"name": "a", "parents": ["b"]},
  {"name": "b", "parents": ["a"]}]}}`), wfformat.Limits{})
	fmt.Println(err)
	// Output:
	// odd.json:3:3: workflow.tasks[1]: tasks depend on each other in a circle: "b" → "a" → "b"; one of these edges must go
}
