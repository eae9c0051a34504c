package oracle_test

import (
	"bytes"
	"fmt"
	"log"

	"pulley/engine/oracle"
)

// A recorder writes what happens to a store of one's own, and Check compares it with the invariants: here two completions of
// one node run were applied.
func ExampleCheck() {
	var file bytes.Buffer
	now := int64(0)
	r := oracle.NewRecorder(&file, oracle.Recording{Source: "worker", Clock: func() int64 { now++; return now }})
	r.Record(
		oracle.Event{Kind: oracle.Submitting, Instance: "i", Call: 1},
		oracle.Event{Kind: oracle.Submitted, Instance: "i", Call: 1},
	)
	for token := int64(1); token <= 2; token++ {
		run := oracle.Event{Instance: "i", Node: "pay", Token: token, Attempt: 1, UntilNS: 100}
		for _, kind := range []oracle.Kind{oracle.Leased, oracle.Offered, oracle.Answered} {
			if run.Kind = kind; kind == oracle.Answered {
				run.Answer = oracle.AnswerApplied
			}
			run.Call = token + 1
			r.Record(run)
		}
	}
	if err := r.Flush(); err != nil {
		log.Fatal(err)
	}
	history, _, err := oracle.ReadHistory(&file)
	if err != nil {
		log.Fatal(err)
	}
	report, err := oracle.Check(history, oracle.Rules{Invariants: []string{"I3"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Result())
	fmt.Println(report[0].Violations[0].Message)
	// Output:
	// violated
	// 2 completions of pay were applied, each for good
}
