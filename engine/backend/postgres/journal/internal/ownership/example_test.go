package ownership_test

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend/postgres/journal/internal/ownership"
)

// An owner acquires each shard that is free, and keeps it for as long as it renews the lease. The DSN leads to a schema of the
// journal, by its search_path.
func ExampleRegistry() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("PULLEY_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	owner := ownership.Registry{Pool: pool, Name: uuid.NewString(), Channel: "owners", PeersChanged: "engines"}
	var shards []int16
	var epochs []int64
	for shard := range int16(4) {
		view, err := owner.ViewShard(ctx, int(shard))
		if err != nil {
			log.Fatal(err)
		}
		if !owner.Free(view) {
			log.Printf("shard %d belongs to %s for %s", shard, view.Owner, view.Remaining)
			continue
		}
		switch epoch, _, err := owner.Acquire(ctx, int(shard), 0, time.Minute); {
		case err == nil:
			shards, epochs = append(shards, shard), append(epochs, epoch)
		case !errors.Is(err, pgx.ErrNoRows): // another owner was faster
			log.Fatal(err)
		}
	}
	renewed, err := owner.Renew(ctx, shards, epochs, time.Minute)
	log.Println("own", renewed, "for another minute", err)
}
