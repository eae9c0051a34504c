package pgserver

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestKeptClusters(t *testing.T) {
	needBinaries(t)
	dir := openDir(t)
	t.Setenv(ClustersVariable, dir)
	var made [2]string
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() { made[i] = identifyOne(t) })
	}
	group.Wait()
	if copied := identifyOne(t); !slices.Contains(made[:], copied) {
		t.Errorf("the clusters are %q, and %s is a copy of neither", made, copied)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are kept, want one", err, entries)
	}
	t.Setenv(ClustersVariable, "")
	if other := identifyOne(t); slices.Contains(made[:], other) {
		t.Errorf("cluster %s is a copy where none is kept", other)
	}
}

func identifyOne(t *testing.T) (id string) {
	ctx, cancel := context.WithTimeout(context.Background(), waitsMax)
	defer cancel()
	s, err := Open(ctx, Options{Ways: []Way{WayLocal}, StartTimeout: waitsMax})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&id); err != nil {
		t.Error(err)
	}
	return id
}
