package push

import (
	"cmp"
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"pulley/engine/backend/postgres"
)

// commitSlots are the places in which a backend's commits leave their marks: as many in each shard as it has commits
// under way there. A place belongs to one commit at a time, until it is known what became of that.
type commitSlots struct {
	backend   int64         // names the backend among all, by chance
	retention time.Duration // how long they are
	number    atomic.Int64
	mu        sync.Mutex
	free      [][]int32 // by shard
	unused    []int32   // by shard: the first that was never used
}

// commitSlot is where a commit says that it was applied.
type commitSlot struct {
	index  int32
	number int64
}

// newCommitSlots is for marks that are kept for as long as the host of the store says, or commitSlotRetention.
func newCommitSlots(store *postgres.Store) *commitSlots {
	id := store.Clock.NewID()
	return &commitSlots{
		backend: int64(binary.BigEndian.Uint64(id[8:])), retention: cmp.Or(store.CommitSlotRetention, commitSlotRetention),
		free: make([][]int32, store.Shards()), unused: make([]int32, store.Shards()),
	}
}

// acquire gives a place to one commit after the other.
func (m *commitSlots) acquire(shard int) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free[shard]); n > 0 {
		slot := m.free[shard][n-1]
		m.free[shard] = m.free[shard][:n-1]
		return slot
	}
	m.unused[shard]++
	return m.unused[shard] - 1
}

// release gives a place back. One whose last commit may still be under way, or a transaction that came to none, is not given
// back.
func (m *commitSlots) release(shard int, slot int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free[shard] = append(m.free[shard], slot)
}

// next gives a commit its mark: greater than all before in that place.
func (m *commitSlots) next(slot int32) commitSlot { return commitSlot{slot, m.number.Add(1)} }

// stale gives which completions of a commit were stale if it was applied.
func (b *Backend) stale(ctx context.Context, shard int, m commitSlot) (ords map[int32]bool, took bool, err error) {
	rows, err := b.store.Pool.Query(ctx, commitSlotSQL, shard, b.slots.backend, m.index, m.number)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		took, ords = true, map[int32]bool{}
		for list := postgres.ReadArray(rows.RawValues()[0]); list.Len() > 0; {
			ords[list.Int4()] = true
		}
	}
	return ords, took, rows.Err()
}

// owners are the numbers of owners.
type owners struct {
	mu      sync.Mutex
	numbers map[string]int32
}

// ownersMax bounds the owners that a backend remembers; beyond it, it starts anew.
const ownersMax = 1000

// owner gives the number of an owner, storing its name first if needed.
func (b *Backend) owner(ctx context.Context, name string) (int32, error) {
	o := &b.owners
	o.mu.Lock()
	number, ok := o.numbers[name]
	o.mu.Unlock()
	if ok {
		return number, nil
	}
	if err := b.store.Pool.QueryRow(ctx, ownerSQL, name).Scan(&number); err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.numbers) >= ownersMax {
		clear(o.numbers)
	}
	o.numbers[name] = number
	return number, nil
}
