package pgsim_test

import (
	"log"

	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// The worlds of one program are played one after the other, each with what the one before has left. The function newDesign makes the
// simulated tables of a design, such as New of package pgsim/push.
func ExampleWorlds() {
	var newDesign func(*world.World, *pgsim.Memory) pgsim.Design
	var drawn cases.Programs
	program, err := drawn.Of(0, "push")
	if err != nil {
		log.Fatal(err)
	}
	worlds := pgsim.Worlds{Workload: program}
	defer worlds.Release()
	for seed := range uint64(10) {
		w := worlds.Begin(cases.Draw(seed, "push", program), newDesign, nil)
		w.Play()
		log.Print(seed, w.Result.Hash, w.Result.Violations)
	}
}
