package systems_test

import (
	"context"
	"fmt"

	"pulley/bench/systems"
)

func ExampleGreet() {
	s, err := systems.Greet(context.Background(), "", []string{"python3", "testdata/memory.py"})
	fmt.Println(s.Name, s.Hello.SystemVersion, s.Has(map[string]string{"pause_ms": "0", "lease_ms": "500"}), err)
	// Output: memory 1 map[pause_ms:0] <nil>
}
