package world_test

import (
	"context"
	"log"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/world"
)

// Which kinds of faults can this machine have? Some need Docker, others a disk of their own.
func ExampleLacking() {
	c := cases.Case{Workloads: []cases.Workload{{Scenario: "chain", Size: 10}}, Backend: "push"}.WithDefaults()
	kinds := fault.Kinds()
	lacking, err := world.Lacking(context.Background(), c, kinds, func(line string) { log.Print(line) })
	if err != nil {
		log.Fatal(err)
	}
	for _, kind := range kinds {
		if why, ok := lacking[kind.Name]; ok {
			log.Printf("%s cannot happen here: %s", kind.Name, why)
			continue
		}
		log.Printf("%s: %s", kind.Name, kind.Doc)
	}
}
