package protocol_test

import (
	"fmt"

	"pulley/adapter/protocol"
)

// A diamond of four tasks: each value has the sum of its inputs, and the token of its execution.
func ExampleCompute() {
	w := protocol.Workload{Name: "diamond", Result: "d", Tasks: []protocol.Task{
		{Name: "a", Add: 1}, {Name: "b", Needs: []string{"a"}, Add: 2}, {Name: "c", Needs: []string{"a"}, Add: 3}, {Name: "d", Needs: []string{"b", "c"}},
	}}
	values := map[string]string{}
	for i := range w.Tasks {
		inputs := map[string]string{}
		for _, need := range w.Tasks[i].Needs {
			inputs[need] = values[need]
		}
		value, err := protocol.Compute(&w.Tasks[i], inputs, fmt.Sprintf("p0.%d", i+1))
		if err != nil {
			fmt.Println(err)
			return
		}
		values[w.Tasks[i].Name] = value
	}
	fmt.Println(values["d"], w.Sum())
	// Output: 7:p0.4 7
}

func ExampleParseResponse() {
	r, err := protocol.ParseResponse([]byte(`{"pulley":"ended","instance":"i1","status":"completed","value":"7:p0.4"}`))
	fmt.Println(r.Kind, r.Instance, r.Status, r.Value, err)
	// Output: ended i1 completed 7:p0.4 <nil>
}
