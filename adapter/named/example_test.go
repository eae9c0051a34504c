package named_test

import (
	"flag"
	"fmt"
	"log"

	"pulley/adapter/named"
)

// A command has a flag for systems. Those of ours need no program besides this one.
func ExampleParse() {
	text := flag.String("systems", "push,exec:./my-adapter --flag", "names of systems, joined by commas")
	flag.Parse()
	systems, err := named.Parse(*text)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range systems {
		fmt.Println(s.Name, s.Command[1:])
	}
	// Output:
	// push [adapter serve push]
	// exec:./my-adapter --flag [--flag]
}
