package push_test

import (
	"fmt"

	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/pgsim/push"
	"pulley/sim/world"
)

// The real code of the design runs in a world of faults, on simulated tables. The same case gives the same world again.
func ExampleNew() {
	newDesign := func(w *world.World, m *pgsim.Memory) pgsim.Design { return push.New(w, m) }
	var drawn cases.Programs
	program, err := drawn.Of(3, "push")
	if err != nil {
		fmt.Println(err)
		return
	}
	worlds := pgsim.Worlds{Workload: program}
	defer worlds.Release()
	hashes := map[string]bool{}
	for range 2 {
		w := worlds.Begin(cases.Draw(3, "push", program), newDesign, nil)
		w.Play()
		fmt.Println("it had work:", w.Result.Steps > 0, "violations:", w.Result.Violations)
		hashes[w.Result.Hash] = true
	}
	fmt.Println("worlds:", len(hashes))
	// Output:
	// it had work: true violations: []
	// it had work: true violations: []
	// worlds: 1
}
