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

// marks are the places in which a backend's commits leave their marks: as many in each shard as it has commits
// under way there. A place belongs to one commit at a time, until it is known what became of that.
type marks struct {
	backend int64         // names the backend among all, by chance
	kept    time.Duration // how long they are
	number  atomic.Int64
	mu      sync.Mutex
	free    [][]int32 // by shard
	next    []int32   // by shard: the first that was never used
}

// mark is where a commit says that it took place.
type mark struct {
	slot   int32
	number int64
}

// newMarks is for marks that are kept for as long as the host of the store says, or marksKept.
func newMarks(store *postgres.Store) *marks {
	id := store.Clock.NewID()
	return &marks{
		backend: int64(binary.BigEndian.Uint64(id[8:])), kept: cmp.Or(store.MarksKept, marksKept),
		free: make([][]int32, store.Shards()), next: make([]int32, store.Shards()),
	}
}

// take gives a place to one commit after the other.
func (m *marks) take(shard int) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free[shard]); n > 0 {
		slot := m.free[shard][n-1]
		m.free[shard] = m.free[shard][:n-1]
		return slot
	}
	m.next[shard]++
	return m.next[shard] - 1
}

// give gives a place back. One whose last commit may still be under way, or a transaction that came to none, is not given
// back.
func (m *marks) give(shard int, slot int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free[shard] = append(m.free[shard], slot)
}

// at gives a commit its mark: greater than all before in that place.
func (m *marks) at(slot int32) mark { return mark{slot, m.number.Add(1)} }

// stale gives which completions of a commit were stale if it took place.
func (b *Backend) stale(ctx context.Context, shard int, m mark) (ords map[int32]bool, took bool, err error) {
	rows, err := b.store.Pool.Query(ctx, markSQL, shard, b.marks.backend, m.slot, m.number)
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
