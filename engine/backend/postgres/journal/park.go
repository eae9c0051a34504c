package journal

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/state"
)

// An instance that only waits for its time, and for long, is parked: it leaves memory, and is loaded when its time
// has come. What is kept of it is when that is, and which of its events have its state.

const (
	// parkMost is how many instances are parked with one append.
	parkMost = 500
	// parkLook is how many waiting node runs one look for such instances takes in.
	parkLook = 100_000
	// parkState is how many bytes of state are always written down, so that one event stands for a parked instance.
	parkState = 4 << 10
	// wakeMost is how many parked instances are loaded at once, and wakeTries how many times in one call.
	wakeMost  = 200
	wakeTries = 5
	// parkedBytes is what a parked instance takes in memory besides the seqs of its events, an estimate.
	parkedBytes = 144
)

// parked is an instance that is not in memory.
type parked struct {
	id     uuid.UUID
	due    int64   // when the first of its node runs has waited for long enough; nanoseconds of the backend's clock
	events []int64 // the seqs of what is stored of it, rising; where its state is written down, from there on
	pos    int     // in the heap
}

func (p *parked) size() int { return parkedBytes + eventBytes*len(p.events) }

// lot holds the parked instances of a shard. The zero value is empty.
type lot struct {
	by   map[uuid.UUID]*parked
	heap []*parked // by due
}

func (l *lot) put(p *parked) {
	if l.by == nil {
		l.by = map[uuid.UUID]*parked{}
	}
	l.by[p.id] = p
	p.pos = len(l.heap)
	l.heap = append(l.heap, p)
	l.up(p.pos)
}

func (l *lot) take(p *parked) {
	delete(l.by, p.id)
	i, last := p.pos, len(l.heap)-1
	l.swap(i, last)
	l.heap[last] = nil
	l.heap = l.heap[:last]
	if i < last {
		l.down(i)
		l.up(i)
	}
}

func (l *lot) swap(i, j int) {
	l.heap[i], l.heap[j] = l.heap[j], l.heap[i]
	l.heap[i].pos, l.heap[j].pos = i, j
}

func (l *lot) up(i int) {
	for parent := (i - 1) / 2; i > 0 && l.heap[i].due < l.heap[parent].due; parent = (i - 1) / 2 {
		l.swap(i, parent)
		i = parent
	}
}

func (l *lot) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(l.heap); child++ {
			if l.heap[child].due < l.heap[least].due {
				least = child
			}
		}
		if least == i {
			return
		}
		l.swap(i, least)
		i = least
	}
}

// wakes says when the first of an instance's node runs has waited for long enough, and whether all of them only wait.
func (inst *instance) wakes() (at int64, waits bool) {
	waits = inst.Runs.Len() > 0
	inst.Runs.Each(func(_ state.Address, r *state.Run) {
		waits = waits && r.Place == state.Waiting
		if at == 0 || r.Due < at {
			at = r.Due
		}
	})
	return at, waits
}

// written says whether an event has all that the instance is.
func (inst *instance) written() bool {
	return len(inst.events) == 1 && inst.events[0] == inst.snapshot
}

// lead is how long before its time a parked instance is loaded.
func (b *Backend) lead() time.Duration { return min(b.park/2, 2*b.tick()) }

// idle lists instances that only wait, for long enough to be parked; the looks of several calls take in all.
func (sh *shardState) idle(now int64) []*instance {
	var found []*instance
	seen := map[*instance]struct{}{}
	for range min(len(sh.waiting), parkLook) {
		sh.looked++
		r := sh.waiting[sh.looked%len(sh.waiting)].Run
		if r.Due-now < int64(sh.b.park) {
			continue
		}
		inst := instanceOf(r)
		if _, had := seen[inst]; had {
			continue
		}
		seen[inst] = struct{}{}
		if at, waits := inst.wakes(); !waits || at-now < int64(sh.b.park) {
			continue
		}
		if found = append(found, inst); len(found) == parkMost {
			break
		}
	}
	slices.SortFunc(found, func(a, b *instance) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found
}

// park takes a number of instances out of memory that only wait, and gives how many. The state of most is written
// down before. That of others is large beside what has happened since it was written: of them the events serve.
func (sh *shardState) park(ctx context.Context) (int, error) {
	idle := sh.idle(sh.b.now())
	t := sh.begin()
	for _, inst := range idle {
		if inst.written() || inst.size() > parkState && len(inst.events) < inst.weight() {
			continue
		}
		sh.tokens++
		_ = t.snapshot(inst, sh.tokens) // where it cannot be written the events serve, too
	}
	if len(t.events) > 0 {
		snapped := slices.Clone(t.events)
		done, err := sh.append(ctx, t)
		if err != nil || done.lost {
			return 0, err
		}
		if _, err := t.commit(backend.Grant{}); err != nil {
			return 0, err
		}
		for _, e := range snapped {
			e.inst.snapshot = e.inst.events[0]
		}
	}
	for _, inst := range idle {
		sh.shelve(inst)
	}
	sh.publish()
	return len(idle), nil
}

// shelve takes an instance out of memory whose node runs all wait.
func (sh *shardState) shelve(inst *instance) {
	due, _ := inst.wakes()
	inst.Runs.Each(func(_ state.Address, r *state.Run) {
		r.Place = state.Over
		sh.file(r)
	})
	inst.Gone = true
	delete(sh.instances, inst.ID)
	p := &parked{id: inst.ID, due: due, events: slices.Clone(inst.events)}
	sh.lot.put(p)
	sh.space.Bytes += p.size() - inst.Bytes
}

// room says whether there is memory for more instances. Where there is none, those that only wait are parked first; a
// look that finds none is not repeated at once.
func (sh *shardState) room(ctx context.Context) bool {
	for sh.b.full() && sh.b.now() >= sh.parkNext {
		n, err := sh.park(ctx)
		if err != nil || sh.epoch.Load() == 0 {
			return false
		}
		if n < parkMost {
			sh.parkNext = sh.b.now() + int64(sh.b.tick()/10)
		}
	}
	return !sh.b.full()
}

// wakeDue loads parked instances whose time comes before an instant. Beyond the bound of memory it loads some where
// nothing else is ready.
func (sh *shardState) wakeDue(ctx context.Context, before int64) error {
	for range wakeTries {
		if sh.b.full() && sh.ready.Peek() != nil {
			return nil
		}
		var list []*parked
		for len(sh.lot.heap) > 0 && sh.lot.heap[0].due <= before && len(list) < wakeMost {
			list = append(list, sh.lot.heap[0])
			sh.lot.take(sh.lot.heap[0])
		}
		if len(list) == 0 {
			return nil
		}
		fresh, err := sh.wake(ctx, list)
		if err != nil {
			for _, p := range list {
				sh.lot.put(p)
			}
			return err
		}
		sh.fileAll(fresh)
		sh.publish()
	}
	return nil
}

// wake puts instances into memory that the caller has taken from the lot, and gives them; their node runs are not
// filed yet. After an error there is none of them.
func (sh *shardState) wake(ctx context.Context, list []*parked) ([]*instance, error) {
	ids := make([][16]byte, len(list))
	var seqs []int64
	for i, p := range list {
		ids[i] = p.id
		seqs = append(seqs, p.events...)
	}
	slices.Sort(seqs)
	rows, err := sh.b.store.Pool.Query(ctx, loadParkedSQL, sh.number, ids)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, scanStored)
	if err != nil {
		return nil, err
	}
	programs, err := sh.programs(ctx, found)
	if err != nil {
		return nil, err
	}
	events, err := sh.readNamed(ctx, seqs)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if s.snapshot != 0 {
			sh.awaits(programs[s.workflow], s)
		} else {
			sh.begins(programs[s.workflow], s, nil)
		}
	}
	t := sh.begin()
	t.Final = true
	now := t.Now
	for i := range events {
		if inst := sh.instances[events[i].id]; inst != nil {
			sh.happened(t, inst, now, &events[i])
		}
	}
	return sh.awake(list), nil
}

// awake gives those of the instances that are in memory as they were, and sets the others aside.
func (sh *shardState) awake(list []*parked) []*instance {
	fresh := make([]*instance, 0, len(list))
	for _, p := range list {
		sh.space.Bytes -= p.size()
		inst := sh.instances[p.id]
		if inst != nil && len(inst.events) == len(p.events) {
			sh.space.Bytes += inst.size() - inst.Bytes
			inst.Bytes = inst.size()
			fresh = append(fresh, inst)
			continue
		}
		if inst != nil {
			sh.space.Bytes -= inst.Bytes
		}
		if sh.broken[p.id] == nil {
			sh.setAside(newInstance(p.id, nil, 0), fmt.Errorf("instance %s: what is stored of it is not whole", p.id))
		}
	}
	return fresh
}

// readNamed reads events by their seqs.
func (sh *shardState) readNamed(ctx context.Context, seqs []int64) ([]storedEvent, error) {
	rows, err := sh.b.store.Pool.Query(ctx, loadNamedSQL, sh.number, seqs)
	if err != nil {
		return nil, err
	}
	events, err := pgx.CollectRows(rows, scanEvent)
	slices.SortFunc(events, func(a, b storedEvent) int { return cmp.Compare(a.seq, b.seq) })
	return events, err
}

// unpark takes a parked instance away that ends.
func (t *tx) unpark(p *parked) {
	t.sh.lot.take(p)
	t.sh.space.Bytes -= p.size()
	t.Undone(func() {
		t.sh.lot.put(p)
		t.sh.space.Bytes += p.size()
	})
}

// tend loads what is due soon, and parks what only waits.
func (sh *shardState) tend(ctx context.Context) error {
	if err := sh.lock(ctx); err != nil {
		return err
	}
	defer sh.unlock()
	if ok, err := sh.owned(ctx); !ok {
		return err
	}
	err := sh.wakeDue(ctx, sh.b.now()+int64(sh.b.lead()))
	for n := parkMost; err == nil && n == parkMost; {
		n, err = sh.park(ctx)
	}
	return postgres.Explain(err)
}
