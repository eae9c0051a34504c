package adapter_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// now is a system that keeps nothing and promises nothing: it executes a task when it is submitted.
type now struct {
	env  *adapter.Env
	ends sync.Map
}

func (*now) Describe() protocol.Hello {
	return protocol.Hello{Name: "now", System: "none", SystemVersion: "1", Shapes: []protocol.Shape{protocol.ShapeSingle}}
}

func (*now) Create(context.Context, *adapter.Env) error { return nil }

func (n *now) Open(_ context.Context, env *adapter.Env, _ adapter.Session) (adapter.Running, error) {
	n.env = env
	return n, nil
}

func (n *now) Submit(ctx context.Context, instances []protocol.Instance) error {
	for _, i := range instances {
		task := n.env.Workloads[i.Workload].Result
		value, err := n.env.Execute(ctx, adapter.Execution{Instance: i.ID, Workload: i.Workload, Task: task, Attempt: 1})
		if err != nil {
			return err
		}
		n.ends.Store(i.ID, value)
		n.env.Ended(i.ID, protocol.Completed, value)
	}
	return nil
}

func (n *now) Look(_ context.Context, ids []string) (states []protocol.State, err error) {
	for _, id := range ids {
		if value, there := n.ends.Load(id); there {
			states = append(states, protocol.State{ID: id, Status: protocol.Completed, Value: value.(string)})
		}
	}
	return states, nil
}

func (*now) Close(context.Context) error { return nil }

// An adapter's program is func main() { adapter.Main(&now{}) }. Here pulley's lines are a text.
func Example() {
	err := adapter.Serve(context.Background(), strings.NewReader(`{"pulley":"hello","version":1}
{"pulley":"setup","create":true,"workloads":[{"name":"one","tasks":[{"name":"a","add":7}],"result":"a"}]}
{"pulley":"open","slots":1,"report":"ends"}
{"pulley":"look","batch":1,"ids":["i1"]}
{"pulley":"stop"}
`), os.Stdout, &now{})
	fmt.Println(err)
	// Output:
	// {"pulley":"hello","version":1,"name":"now","system":"none","system_version":"1","promises":{},"shapes":["single"]}
	// {"pulley":"ready"}
	// {"pulley":"ready"}
	// {"pulley":"states","batch":1,"instances":[{"id":"i1","status":"unknown"}]}
	// <nil>
}
