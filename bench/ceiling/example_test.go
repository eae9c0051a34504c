package ceiling_test

import (
	"context"
	"log"
	"os"
	"time"

	"pulley/bench/ceiling"
)

// How many completions a second can this server write at all, by whatever scheduler?
func ExampleMeter() {
	ctx := context.Background()
	meter, err := ceiling.New(ceiling.Config{
		DSN: os.Getenv("PULLEY_DSN"), Connections: []int{1, 8}, Batches: []int{100}, Duration: 2 * time.Second,
		Progress: func(done, total int, point string) { log.Printf("%d of %d: %s", done, total, point) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 { // the more rounds, the narrower the intervals
		if err := meter.Round(ctx); err != nil {
			log.Fatal(err)
		}
	}
	found := meter.Result()
	for _, way := range ceiling.Ways() {
		if rate := found.Rate(way); rate != nil {
			log.Print(way, ": ", *rate)
		}
	}
}
