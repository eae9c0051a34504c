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
	"pulley/engine/graph"
)

const (
	// evictBatchMax bounds the instances evicted with one append.
	evictBatchMax = 500
	// evictScanMax bounds the waiting node runs of one scan.
	evictScanMax = 100_000
	// evictSnapshotBytes is the size of a state up to which an evicted instance always gets a snapshot, so that one event holds
	// it.
	evictSnapshotBytes = 4 << 10
	// wakeMax bounds the instances reloaded at once, reloadTries the reloads of one call.
	wakeMax     = 200
	reloadTries = 5
	// evictedBytes estimates the memory of an evicted instance without its events.
	evictedBytes = 144
)

type evictedInstance struct {
	id     uuid.UUID
	due    int64                      // when its first node run is due, on the backend's clock
	events []int64                    // ascending seqs of its events, from its snapshot on if it has one
	made   map[state.Address]struct{} // node runs that were made due since
	pos    int
}

func (p *evictedInstance) size() int { return evictedBytes + eventBytes*len(p.events) }

// evictedSet holds the evicted instances of a shard. The zero value is empty.
type evictedSet struct {
	by   map[uuid.UUID]*evictedInstance
	heap []*evictedInstance
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

func (inst *instance) isSnapshotted() bool {
	return len(inst.events) == 1 && inst.events[0] == inst.snapshot
}

// reloadLead is how long before it is due an instance is reloaded.
func (b *Backend) reloadLead() time.Duration { return min(b.evictAfter/2, 2*b.tick()) }

// evictable lists instances that wait long enough to be evicted. The scans of several calls cover all instances.
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

// evict evicts a batch of waiting instances and returns how many. Most get a snapshot first. An instance whose state is large
// compared with its events since the last one is reloaded from the events.
func (sh *shardState) evict(ctx context.Context) (int, error) {
	idle := sh.evictable(sh.b.now())
	t := sh.begin()
	for _, inst := range idle {
		if inst.isSnapshotted() || inst.size() > evictSnapshotBytes && len(inst.events) < inst.weight() {
			continue
		}
		sh.tokens++
		_ = t.snapshot(inst, sh.tokens) // on an error its events serve, too
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

// hasRoom reports whether memory has room for more instances. If not, it evicts waiting ones first. After a scan that finds few
// it pauses before the next.
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

// reloadDue reloads instances that are due before an instant. If memory is full, it reloads only if nothing else is ready.
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

// reload loads instances that the caller removed from the evicted set. It does not queue their node runs. On an error it loads
// none.
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

func (sh *shardState) installReloaded(list []*evictedInstance) []*instance {
	fresh := make([]*instance, 0, len(list))
	for _, p := range list {
		sh.space.Bytes -= p.size()
		inst := sh.instances[p.id]
		if inst != nil && len(inst.events) == len(p.events) {
			sh.space.Bytes += inst.size() - inst.Bytes
			inst.Bytes = inst.size()
			fresh = append(fresh, inst)
			sh.applyDue(inst, p.made)
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

// makeEvictedDue notes that a node run of an evicted instance is due, which reloads the instance.
func (sh *shardState) makeEvictedDue(p *evictedInstance, run graph.Run) {
	if p.made == nil {
		p.made = map[state.Address]struct{}{}
	}
	p.made[state.OfRun(run)] = struct{}{}
	p.due = min(p.due, sh.b.now())
	sh.evicted.up(p.pos)
}

func (sh *shardState) applyDue(inst *instance, made map[state.Address]struct{}) {
	for at := range made {
		if r, ok := inst.Runs.Get(at); ok && r.Place == state.Waiting {
			r.Due = min(r.Due, sh.b.now())
		}
	}
}

func (sh *shardState) readNamed(ctx context.Context, seqs []int64) ([]storedEvent, error) {
	rows, err := sh.b.store.Pool.Query(ctx, loadNamedSQL, sh.number, seqs)
	if err != nil {
		return nil, err
	}
	events, err := pgx.CollectRows(rows, scanEvent)
	slices.SortFunc(events, func(a, b storedEvent) int { return cmp.Compare(a.seq, b.seq) })
	return events, err
}

func (t *tx) removeEvicted(p *evictedInstance) {
	t.sh.evicted.remove(p)
	t.sh.space.Bytes -= p.size()
	t.Undone(func() {
		t.sh.evicted.add(p)
		t.sh.space.Bytes += p.size()
	})
}

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
