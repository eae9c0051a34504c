package pgstore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgtest"
)

// TestPeers checks that engines that listen to a schema divide its shards: at once when one joins or leaves, after a refresh when
// one was killed.
func TestPeers(t *testing.T) {
	ctx := limited(t)
	cfg := postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Connections: 2, Shards: 4}
	store, err := Open(ctx, cfg, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var all []*Peers
	var stops []func()
	come := func() {
		p := NewPeers(store)
		if !slices.Equal(parts(p), []int{0, 1, 2, 3}) {
			t.Errorf("one that does not listen prefers %v", parts(p))
		}
		listening, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- p.Listen(listening, func() { t.Error("an engine that comes or goes has brought no work") })
		}()
		all = append(all, p)
		stops = append(stops, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the end of the context: %v", err)
			}
		})
	}
	come()
	await(ctx, t, all, "[[0 1 2 3]]")
	come()
	await(ctx, t, all, "[[0 2] [1 3]]")
	come()
	await(ctx, t, all, "[[0 3] [1] [2]]")
	for range 3 {
		come()
	}
	await(ctx, t, all, "[[0] [0] [1] [1] [2] [3]]") // with more engines than shards, some share one
	for range 4 {
		stops[0]()
		all, stops = all[1:], stops[1:]
	}
	await(ctx, t, all, "[[0 2] [1 3]]")

	if _, err := store.Pool.Exec(ctx, "SELECT pg_terminate_backend($1, 10000)", int32(all[0].place.Load().pid)); err != nil {
		t.Fatal(err)
	}
	if err := all[1].Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, all[1:], "[[0 1 2 3]]")
	stops[1]()
}

func parts(p *Peers) []int {
	var out []int
	for shard := range p.store.shards {
		if p.Prefers(shard) {
			out = append(out, shard)
		}
	}
	return out
}

func await(ctx context.Context, t *testing.T, all []*Peers, want string) {
	t.Helper()
	for got := ""; got != want; {
		var list [][]int
		for _, p := range all {
			list = append(list, parts(p))
		}
		slices.SortFunc(list, slices.Compare[[]int])
		got = fmt.Sprint(list)
		if _, err := all[0].store.Pool.Exec(ctx, "SELECT"); err != nil { // a round trip, during which notifications arrive
			t.Fatalf("engines prefer %s, not %s: %v", got, want, err)
		}
	}
}
