package claims_test

import (
	"context"
	"log"
	"os"

	"pulley/bench/claim"
	"pulley/bench/claims"
)

// Do our goals hold on one's own server? Each claim says what was claimed, what was measured, and how to measure it again.
func ExampleMeasure() {
	cfg := claims.Config{DSN: os.Getenv("PULLEY_DSN"), Way: "a server of our own", Goals: true, Quick: true, Progress: func(line string) { log.Print(line) }}
	if err := cfg.Check(); err != nil {
		log.Fatalf("%v; there are:\n%s", err, claims.Help())
	}
	measured, err := claims.Measure(context.Background(), cfg)
	if err != nil {
		log.Print(err) // the earlier measurements are there
	}
	for _, one := range measured {
		if one.Verdict == claim.Fails {
			log.Printf("%s does not hold: %s\n%s", one.ID, one.Why, one.Command)
		}
	}
	if err := claim.WriteText(os.Stdout, measured); err != nil {
		log.Fatal(err)
	}
}
