package journal_test

import (
	"context"
	"log"
	"os"
	"time"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
)

// A service bounds what its instances take in memory, lets those leave that wait for long, and watches both.
func ExampleOpen() {
	ctx := context.Background()
	store, err := journal.Open(ctx, journal.Config{
		Store:      postgres.Config{DSN: os.Getenv("PULLEY_DSN"), Problem: func(err error) { log.Print(err) }},
		Lease:      5 * time.Second, // another engine takes the shards of one that died over after this
		Memory:     256 << 20,
		EvictAfter: time.Minute,
	})
	if err != nil {
		log.Fatal(postgres.Explain(err))
	}
	defer store.Close() // returns the shards at once
	for range time.Tick(10 * time.Second) {
		stats, err := store.Stats(ctx)
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("%d shards: %d instances in memory, %d evicted; %d of %d bytes",
			stats.Shards, stats.Instances, stats.Evicted, stats.Bytes, stats.BytesMax)
		if stats.Broken > 0 {
			log.Printf("%d instances rest until they are cancelled", stats.Broken)
		}
	}
}
