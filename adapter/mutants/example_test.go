package mutants_test

import (
	"fmt"
	"log"
	"os"

	"pulley/adapter/mutants"
)

// A judge of systems is given each mutant as the command of an adapter, and must find something.
func ExampleMutant_Write() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, m := range mutants.All() {
		if _, err := m.Write("../..", dir); err != nil {
			log.Fatal(err)
		}
		fmt.Println("python3", m.Name+".py")
	}
	// Output:
	// python3 done-before-executed.py
	// python3 no-reclaim.py
	// python3 two-transactions.py
	// python3 answered-before-commit.py
}
