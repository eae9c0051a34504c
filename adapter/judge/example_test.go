package judge_test

import (
	"fmt"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
)

// A process accepted an instance, and the store does not know it.
func ExampleJudge() {
	v := judge.Judge(&judge.History{
		Promises:  protocol.Promises{Submit: protocol.Durable},
		Workloads: []protocol.Workload{{Name: "one", Tasks: []protocol.Task{{Name: "a"}}, Result: "a"}},
		Processes: 1, Slots: 1,
		Entries: []judge.Entry{
			{Kind: judge.Opened, Incarnation: 1},
			{Kind: judge.Sent, Incarnation: 1, Batch: 1, Instances: []protocol.Instance{{ID: "i1", Workload: "one"}}},
			{Kind: judge.Submitted, Incarnation: 1, Batch: 1},
			{Kind: judge.Killed, Incarnation: 1},
			{Kind: judge.Opened, Incarnation: 2},
			{Kind: judge.Asked, Incarnation: 2, Batch: 1, IDs: []string{"i1"}},
			{Kind: judge.Looked, Incarnation: 2, Batch: 1, States: []protocol.State{{ID: "i1", Status: protocol.Unknown}}},
		},
	})
	fmt.Print(v.Text())
	// Output:
	// It breaks its promises:
	//   submit        instance i1: it was accepted in entry 3, and the store does not know it in entry 7
	// instances   1 submitted, 1 accepted, 0 ended; 1 lost
	// executions  0, 0 repeated
	// faults      0 injected, 1 kills, 0 other deaths; 0.0 executions repeated for each death
}
