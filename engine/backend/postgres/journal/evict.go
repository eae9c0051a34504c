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

// An instance that only waits for its time, and for long, is evicted: it leaves memory, and is loaded when its time
// has come. What is kept of it is when that is, and which of its events have its state.

const (
	// evictBatchMax is how many instances are evicted with one append.
	evictBatchMax = 500
	// evictScanMax is how many waiting node runs one look for such instances takes in.
	evictScanMax = 100_000
	// evictSnapshotBytes is how many bytes of state are always written down, so that one event stands for a evicted instance.
	evictSnapshotBytes = 4 << 10
	// wakeMax is how many evicted instances are loaded at once, and reloadTries how many times in one call.
	wakeMax     = 200
	reloadTries = 5
	// evictedBytes is what a evicted instance takes in memory besides the seqs of its events, an estimate.
	evictedBytes = 144
)

// evictedInstance is an instance that is not in memory.
type evictedInstance struct {
	id     uuid.UUID
	due    int64   // when the first of its node runs has waited for long enough; nanoseconds of the backend's clock
	events []int64 // the seqs of what is stored of it, rising; where its state is written down, from there on
	pos    int     // in the heap
}

func (p *evictedInstance) size() int { return evictedBytes + eventBytes*len(p.events) }

// evictedSet holds the evicted instances of a shard. The zero value is empty.
type evictedSet struct {
	by   map[uuid.UUID]*evictedInstance
	heap []*evictedInstance // by due
}

func (l *evictedSet) add(p *evictedInstance) {
	if l.by == nil {
		l.by = map[uuid.UUID]*evictedInstance{}
	}
	l.by[p.id] = p
	p.pos = len(l.heap)
	l.heap = append(l.heap, p)
	l.up(p.pos)
}

func (l *evictedSet) remove(p *evictedInstance) {
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

func (l *evictedSet) swap(i, j int) {
	l.heap[i], l.heap[j] = l.heap[j], l.heap[i]
	l.heap[i].pos, l.heap[j].pos = i, j
}

func (l *evictedSet) up(i int) {
	for parent := (i - 1) / 2; i > 0 && l.heap[i].due < l.heap[parent].due; parent = (i - 1) / 2 {
		l.swap(i, parent)
		i = parent
	}
}

func (l *evictedSet) down(i int) {
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

// nextDue says when the first of an instance's node runs has waited for long enough, and whether all of them only wait.
func (inst *instance) nextDue() (at int64, waits bool) {
	waits = inst.Runs.Len() > 0
	inst.Runs.Each(func(_ state.Address, r *state.Run) {
		waits = waits && r.Place == state.Waiting
		if at == 0 || r.Due < at {
			at = r.Due
		}
	})
	return at, waits
}

// isSnapshotted says whether an event has all that the instance is.
func (inst *instance) isSnapshotted() bool {
	return len(inst.events) == 1 && inst.events[0] == inst.snapshot
}

// reloadLead is how long before its time a evicted instance is loaded.
func (b *Backend) reloadLead() time.Duration { return min(b.evictAfter/2, 2*b.tick()) }

// evictable lists instances that only wait, for long enough to be evicted; the looks of several calls take in all.
func (sh *shardState) evictable(now int64) []*instance {
	var found []*instance
	seen := map[*instance]struct{}{}
	for range min(len(sh.waiting), evictScanMax) {
		sh.evictCursor++
		r := sh.waiting[sh.evictCursor%len(sh.waiting)].Run
		if r.Due-now < int64(sh.b.evictAfter) {
			continue
		}
		inst := instanceOf(r)
		if _, had := seen[inst]; had {
			continue
		}
		seen[inst] = struct{}{}
		if at, waits := inst.nextDue(); !waits || at-now < int64(sh.b.evictAfter) {
			continue
		}
		if found = append(found, inst); len(found) == evictBatchMax {
			break
		}
	}
	slices.SortFunc(found, func(a, b *instance) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found
}

// evict takes a number of instances out of memory that only wait, and gives how many. The state of most is written
// down before. That of others is large beside what has happened since it was written: of them the events serve.
func (sh *shardState) evict(ctx context.Context) (int, error) {
	idle := sh.evictable(sh.b.now())
	t := sh.begin()
	for _, inst := range idle {
		if inst.isSnapshotted() || inst.size() > evictSnapshotBytes && len(inst.events) < inst.weight() {
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
		sh.evictInstance(inst)
	}
	sh.publish()
	return len(idle), nil
}

// evictInstance takes an instance out of memory whose node runs all wait.
func (sh *shardState) evictInstance(inst *instance) {
	due, _ := inst.nextDue()
	inst.Runs.Each(func(_ state.Address, r *state.Run) {
		r.Place = state.NoQueue
		sh.file(r)
	})
	inst.Detached = true
	delete(sh.instances, inst.ID)
	p := &evictedInstance{id: inst.ID, due: due, events: slices.Clone(inst.events)}
	sh.evicted.add(p)
	sh.space.Bytes += p.size() - inst.Bytes
}

// hasRoom says whether there is memory for more instances. Where there is none, those that only wait are evicted first; a
// look that finds none is not repeated at once.
func (sh *shardState) hasRoom(ctx context.Context) bool {
	for sh.b.full() && sh.b.now() >= sh.nextEvictScan {
		n, err := sh.evict(ctx)
		if err != nil || sh.epoch.Load() == 0 {
			return false
		}
		if n < evictBatchMax {
			sh.nextEvictScan = sh.b.now() + int64(sh.b.tick()/10)
		}
	}
	return !sh.b.full()
}

// reloadDue loads evicted instances whose time comes before an instant. Beyond the bound of memory it loads some where
// nothing else is ready.
func (sh *shardState) reloadDue(ctx context.Context, before int64) error {
	for range reloadTries {
		if sh.b.full() && sh.ready.Peek() != nil {
			return nil
		}
		var list []*evictedInstance
		for len(sh.evicted.heap) > 0 && sh.evicted.heap[0].due <= before && len(list) < wakeMax {
			list = append(list, sh.evicted.heap[0])
			sh.evicted.remove(sh.evicted.heap[0])
		}
		if len(list) == 0 {
			return nil
		}
		fresh, err := sh.reload(ctx, list)
		if err != nil {
			for _, p := range list {
				sh.evicted.add(p)
			}
			return err
		}
		sh.fileAll(fresh)
		sh.publish()
	}
	return nil
}

// reload puts instances into memory that the caller has taken from the lot, and gives them; their node runs are not
// filed yet. After an error there is none of them.
func (sh *shardState) reload(ctx context.Context, list []*evictedInstance) ([]*instance, error) {
	ids := make([][16]byte, len(list))
	var seqs []int64
	for i, p := range list {
		ids[i] = p.id
		seqs = append(seqs, p.events...)
	}
	slices.Sort(seqs)
	rows, err := sh.b.store.Pool.Query(ctx, loadEvictedSQL, sh.number, ids)
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
			sh.addSnapshotted(programs[s.workflow], s)
		} else {
			sh.begins(programs[s.workflow], s, nil)
		}
	}
	t := sh.begin()
	t.Final = true
	now := t.Now
	for i := range events {
		if inst := sh.instances[events[i].id]; inst != nil {
			sh.applyStored(t, inst, now, &events[i])
		}
	}
	return sh.installReloaded(list), nil
}

// installReloaded gives those of the instances that are in memory as they were, and sets the others aside.
func (sh *shardState) installReloaded(list []*evictedInstance) []*instance {
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
			sh.markBroken(newInstance(p.id, nil, 0), fmt.Errorf("instance %s: what is stored of it is not whole", p.id))
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

// removeEvicted takes a evicted instance away that ends.
func (t *tx) removeEvicted(p *evictedInstance) {
	t.sh.evicted.remove(p)
	t.sh.space.Bytes -= p.size()
	t.Undone(func() {
		t.sh.evicted.add(p)
		t.sh.space.Bytes += p.size()
	})
}

// evictAndReload loads what is due soon, and evicts what only waits.
func (sh *shardState) evictAndReload(ctx context.Context) error {
	if err := sh.lock(ctx); err != nil {
		return err
	}
	defer sh.unlock()
	if ok, err := sh.owned(ctx); !ok {
		return err
	}
	err := sh.reloadDue(ctx, sh.b.now()+int64(sh.b.reloadLead()))
	for n := evictBatchMax; err == nil && n == evictBatchMax; {
		n, err = sh.evict(ctx)
	}
	return postgres.Explain(err)
}
