package programs_test

import (
	"fmt"
	"strings"

	"pulley/engine/ir"
	"pulley/engine/ir/programs"
)

// Random programs test whatever reads programs: here, that printing a program loses nothing. A property of rapid draws from the
// same generator, and makes a program that fails smaller.
func ExampleGenerator() {
	drawn, calls := programs.Generator(programs.Options{Tame: true}), 0
	for seed := range 50 {
		p := drawn.Example(seed)
		parsed, err := ir.Parse("drawn.ir", []byte(p.Source), ir.Limits{})
		if err != nil {
			fmt.Println(err)
			return
		}
		again, err := ir.Parse("printed.ir", []byte(ir.Print(parsed)), ir.Limits{})
		if err != nil || !ir.Equal(parsed, again) {
			fmt.Printf("printing changes the program (%v):\n%#v\n", err, p)
			return
		}
		calls += strings.Count(p.Source, "@")
	}
	fmt.Println("50 programs survive printing; they call actions:", calls > 50)
	// Output: 50 programs survive printing; they call actions: true
}
