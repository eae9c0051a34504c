package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
)

type placing struct {
	*memory.Backend
	own int
}

func (p placing) IsLocal(shard int) bool { return shard == p.own }

// Ids made by an engine must be local, and given ids must stay.
func TestSubmitPlacesWhatItNames(t *testing.T) {
	const shards, own = 2, 1 // of 64 tries for an id, one is local, but for once in 2^64
	e := start(t, Config{Backend: placing{memoryBackend(t, shards), own}})
	p, input := chain(t, 1), json.RawMessage(`{"x": 1}`)
	for range 40 { // one in two would be local by chance
		id, err := e.Submit(t.Context(), SubmitRequest{Program: p, Input: input})
		if err != nil || backend.ShardOf(id, shards) != own || !e.IsLocal(id) {
			t.Fatalf("instance %s lies in shard %d (%v), not in %d", id, backend.ShardOf(id, shards), err, own)
		}
	}
	far := uuid.New()
	for backend.ShardOf(far, shards) == own {
		far = uuid.New()
	}
	id, err := e.Submit(t.Context(), SubmitRequest{ID: far, Program: p, Input: input})
	if err != nil || id != far || e.IsLocal(id) {
		t.Fatalf("instance %s was named %s (near: %v), %v", far, id, e.IsLocal(id), err)
	}
	if inst, err := e.Wait(t.Context(), far); err != nil || string(inst.Result) != "2" {
		t.Errorf("%+v, %v", inst, err)
	}
}

type overlapping struct{ *memory.Backend }

func (overlapping) OverlapsCommits() {}

// TestOverlap checks that the dispatcher lets commits overlap where the backend gains by it, and only there.
func TestOverlap(t *testing.T) {
	b := memoryBackend(t, 1)
	for _, c := range []struct {
		backend backend.Backend
		want    int
	}{{b, 0}, {overlapping{b}, overlap}} {
		if got := (Config{Backend: c.backend}).dispatch().Overlap; got != c.want {
			t.Errorf("commits of %T overlap from %d completions on, want %d", c.backend, got, c.want)
		}
	}
}
