package judge_test

import (
	"log"

	"pulley/sim/cases"
	"pulley/sim/judge"
	"pulley/sim/world"
)

// The author of a design has its tables simulated, and every step of its worlds judged. Package pgsim does this for the designs that
// there are.
func ExampleNew() {
	var design interface { // the tables of one's own
		world.Store
		judge.Tables
	}
	c, err := cases.Load("found.json")
	if err != nil {
		log.Fatal(err)
	}
	program, err := cases.Prepare(c)
	if err != nil {
		log.Fatal(err)
	}
	var spare world.Spare
	defer spare.Release()
	w := world.New(c, program, &spare, nil)
	j := judge.New(w, design)
	w.Attach(design, j)
	w.Server.Committed = j.Committed
	w.Play()
	for _, violation := range w.Result.Violations {
		log.Print(violation)
	}
}
