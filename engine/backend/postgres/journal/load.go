package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
)

const (
	// loadEvents is how many events are read at once.
	loadEvents = 20_000
	// adoptMax bounds the instances adopted by one statement.
	adoptMax = 50
)

type stored struct {
	id       uuid.UUID
	workflow int32
	input    []byte
	age      time.Duration // since its submission
	snapshot int64         // seq of its snapshot; zero: none
}

func scanStored(row pgx.CollectableRow) (stored, error) {
	var s stored
	var micros int64
	err := row.Scan(&s.id, &s.workflow, &s.input, &micros, &s.snapshot)
	s.age = time.Duration(micros) * time.Microsecond
	return s, err
}

type storedEvent struct {
	seq  int64
	id   uuid.UUID
	kind int16
	key  graph.Run
	age  int64 // in µs; zero if its time does not matter
	data []byte
}

func scanEvent(row pgx.CollectableRow) (storedEvent, error) {
	var e storedEvent
	err := row.Scan(&e.seq, &e.id, &e.kind, &e.key.Node, &e.key.Path, &e.age, &e.data)
	return e, err
}

// load builds a shard's memory from the store: it starts the running instances and applies their events in order, through the
// code that applied them first. Leased node runs become ready again, except those whose leases came with the shard. mine reports
// that memory has every delivery that the store lacks.
func (sh *shardState) load(ctx context.Context, epoch int64, mine bool) error {
	sh.instances, sh.broken, sh.evicted = map[uuid.UUID]*instance{}, map[uuid.UUID]error{}, evictedSet{}
	sh.tokens, sh.seq = epoch<<tokenBits, 1
	rows, err := sh.b.store.Pool.Query(ctx, loadInstancesSQL, sh.number)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, scanStored)
	if err != nil {
		return err
	}
	ends, err := sh.replay(ctx, found)
	if err != nil {
		return err
	}
	counted, err := sh.adoptLeases(ctx, epoch)
	if err != nil {
		return err
	}
	if !counted && !mine {
		sh.presumeDelivered()
	}
	sh.attach(sh.lost)
	sh.lost, sh.counts = nil, true
	sh.fileAll(slices.Collect(maps.Values(sh.instances)))
	sh.addLoaded()
	return sh.endAll(ctx, ends)
}

// replay starts instances and applies their events. An instance with a snapshot starts there, and stays evicted if it only waits;
// if more events follow, it is reloaded at the end. replay returns the ends of instances that end at their start: the owner that
// adopted them died before it stored the end.
func (sh *shardState) replay(ctx context.Context, found []stored) (ends []ending, err error) {
	programs, err := sh.programs(ctx, found)
	if err != nil {
		return nil, err
	}
	r := replayer{sh: sh, programs: programs, awaited: map[uuid.UUID]stored{}}
	for _, s := range found {
		if s.snapshot != 0 {
			r.awaited[s.id] = s
		} else {
			sh.begins(programs[s.workflow], s, &ends)
		}
	}
	for n := loadEvents; n == loadEvents; {
		if n, err = r.applyNext(ctx); err != nil {
			return nil, err
		}
	}
	for id := range r.awaited {
		sh.markBroken(newInstance(id, nil, 0), fmt.Errorf("instance %s: its state is not stored", id))
	}
	for list := range slices.Chunk(r.deferred, wakeMax) {
		for _, p := range list {
			sh.evicted.remove(p)
		}
		if _, err := sh.reload(ctx, list); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

func (sh *shardState) programs(ctx context.Context, found []stored) (map[int32]*plan.Program, error) {
	out := map[int32]*plan.Program{}
	for _, s := range found {
		if out[s.workflow] != nil {
			continue
		}
		program, err := sh.b.store.Program(ctx, s.workflow)
		if err != nil {
			return nil, err
		}
		out[s.workflow] = program
	}
	return out, nil
}

// endAll ends adopted instances that end at their start.
func (sh *shardState) endAll(ctx context.Context, ends []ending) error {
	if len(ends) == 0 {
		return nil
	}
	t := sh.begin()
	t.ends = ends
	for i := range t.ends {
		sh.tokens++
		t.ends[i].token = sh.tokens
	}
	_, err := sh.append(ctx, t)
	return err
}

// begins starts a stored instance in memory, without queueing its node runs. An instance whose start cannot be planned is broken.
// One that ends at its start, which only a pending one can, is added to ends; if ends is nil, it is broken.
func (sh *shardState) begins(program *plan.Program, s stored, ends *[]ending) {
	inst := newInstance(s.id, program, s.workflow)
	p, err := program.Start(s.input)
	if err != nil {
		sh.broken[s.id] = err
		return
	}
	t := sh.begin()
	t.Now -= int64(s.age)
	if err := t.start(inst, p); err != nil {
		t.rollback(savepoint{})
		sh.markBroken(inst, err)
		return
	}
	if len(t.ends) > 0 && ends == nil {
		sh.markBroken(inst, fmt.Errorf("instance %s ends with its beginning, and is stored as running", s.id))
		return
	}
	if ends != nil {
		*ends = append(*ends, t.ends...)
	}
}

// addSnapshotted adds an instance whose state will come with its snapshot.
func (sh *shardState) addSnapshotted(program *plan.Program, s stored) *instance {
	inst := newInstance(s.id, program, s.workflow)
	inst.snapshot = s.snapshot
	sh.instances[s.id] = inst
	return inst
}

func (sh *shardState) markBroken(inst *instance, err error) {
	delete(sh.instances, inst.ID)
	if !inst.Detached {
		sh.space.Bytes -= inst.Bytes
	}
	inst.Detached = true
	sh.broken[inst.ID] = err
}

type replayer struct {
	sh       *shardState
	programs map[int32]*plan.Program
	awaited  map[uuid.UUID]stored // instances whose snapshot was not read yet
	deferred []*evictedInstance   // instances evicted until later events were read
}

func (r *replayer) applyNext(ctx context.Context) (int, error) {
	sh := r.sh
	rows, err := sh.b.store.Pool.Query(ctx, loadEventsSQL, sh.number, sh.seq, loadEvents)
	if err != nil {
		return 0, err
	}
	t := sh.begin()
	t.Final = true
	now := t.Now
	n := 0
	var e storedEvent
	_, err = pgx.ForEachRow(rows, []any{&e.seq, &e.id, &e.kind, &e.key.Node, &e.key.Path, &e.age, &e.data}, func() error {
		n++
		sh.seq = e.seq + 1
		sh.pages.add(e.seq)
		r.applyEvent(t, now, &e)
		return nil
	})
	return n, err
}

func (r *replayer) applyEvent(t *tx, now int64, e *storedEvent) {
	sh := r.sh
	if inst := sh.instances[e.id]; inst != nil {
		sh.applyStored(t, inst, now, e)
		return
	}
	s, awaited := r.awaited[e.id]
	p := sh.evicted.by[e.id]
	switch {
	case p != nil:
		if p.events = append(p.events, e.seq); len(p.events) == 2 {
			r.deferred = append(r.deferred, p)
		}
	case awaited && e.seq == s.snapshot:
		delete(r.awaited, e.id)
		inst := sh.addSnapshotted(r.programs[s.workflow], s)
		sh.applyStored(t, inst, now, e)
		if at, waits := inst.nextDue(); waits && at-now >= int64(sh.b.evictAfter) {
			sh.evictInstance(inst)
		}
	case sh.broken[e.id] == nil:
		sh.pages.drop([]int64{e.seq})
	}
}

func (sh *shardState) applyStored(t *tx, inst *instance, now int64, e *storedEvent) {
	inst.events = append(inst.events, e.seq)
	t.Now = now - e.age*1000
	if err := t.again(inst, e.kind, e.key, bytes.Clone(e.data)); err != nil {
		sh.markBroken(inst, fmt.Errorf("event %d: %w", e.seq, err))
	}
}

func (t *tx) again(inst *instance, kind int16, key graph.Run, data []byte) error {
	if kind == journalstore.KindSnapshot {
		return t.restore(inst, data)
	}
	r, ok := inst.Runs.Get(state.OfRun(key))
	if !ok {
		return fmt.Errorf("instance %s: %s has ended, and was not under way", inst.ID, inst.program.RunName(key))
	}
	ev := plan.Event{Run: r.Key, Attempt: int(r.Attempt)}
	switch kind {
	case journalstore.KindDelivery:
		n, ok := readInt(data)
		if !ok {
			return fmt.Errorf("instance %s: %s is delivered again, and nothing says how often it was", inst.ID, inst.program.RunName(key))
		}
		r.Counted, r.Noted = int32(n), int32(n)
		return nil
	case journalstore.KindResult:
		ev.Result = data
	case journalstore.KindFailure:
		ev.Failure = &plan.Failure{}
		if err := json.Unmarshal(data, ev.Failure); err != nil {
			return err
		}
	case journalstore.KindRetry:
		after, ok := readInt(data)
		if !ok {
			return fmt.Errorf("instance %s: %s is tried again, and nothing says when", inst.ID, inst.program.RunName(key))
		}
		t.Retry(r, time.Duration(after))
		return nil
	default:
		return fmt.Errorf("instance %s: an event of the kind %d", inst.ID, kind)
	}
	p, err := t.Step(&inst.Instance, ev, 0)
	if err != nil {
		return err
	}
	if p.Retry != nil {
		return fmt.Errorf("instance %s: %s is tried again, and was not", inst.ID, inst.program.RunName(key))
	}
	return t.completed(r, p, 0)
}

// adoptLeases takes over the leases that came with the shard. It reads them, and removes them once they are in memory: either
// answer may be lost, and the next acquisition must find them. With errLost the shard has a later epoch, perhaps from an
// abandoned call of this backend: leases may still be stored. counted reports that all deliveries are among the leases or the
// events.
func (sh *shardState) adoptLeases(ctx context.Context, epoch int64) (counted bool, err error) {
	found, counted, owned, err := sh.b.owners.Leases(ctx, sh.number, epoch, sh.b.now)
	switch {
	case err != nil:
		return false, err
	case !owned:
		return false, errLost
	case len(found) == 0:
		return counted, nil
	}
	sh.lost = slices.DeleteFunc(sh.lost, func(l ownership.Lease) bool {
		return slices.ContainsFunc(found, func(f ownership.Lease) bool { return f.Token == l.Token && f.Instance == l.Instance && f.Key == l.Key })
	})
	sh.lost = append(sh.lost, found...)
	owned, err = sh.b.owners.DropLeases(ctx, sh.number, epoch)
	if err == nil && !owned {
		return false, errLost
	}
	return counted, err
}

func (sh *shardState) fileAll(instances []*instance) {
	var runs []*state.Run
	for _, inst := range instances {
		inst.Runs.Each(func(_ state.Address, r *state.Run) { runs = append(runs, r) })
	}
	slices.SortFunc(runs, func(a, b *state.Run) int { return cmp.Compare(a.Order, b.Order) })
	for _, r := range runs {
		sh.file(r)
	}
}

// adopt adopts instances that other engines stored, and returns how many.
func (sh *shardState) adopt(ctx context.Context) (int, error) {
	adopted := 0
	for n := adoptMax; n == adoptMax && sh.hasRoom(ctx); {
		rows, err := sh.b.store.Pool.Query(ctx, adoptSQL, sh.number, sh.epoch.Load(), adoptMax)
		if err != nil {
			return adopted, err
		}
		found, err := pgx.CollectRows(rows, scanStored)
		if err != nil {
			if len(found) > 0 || !journalstore.IsNotSent(err) {
				sh.suspend() // some may be marked as adopted and not be in memory; load reads all
			}
			return adopted, err
		}
		n = len(found)
		if err := sh.startAdopted(ctx, found); err != nil {
			sh.suspend()
			return adopted, err
		}
		adopted += n
	}
	return adopted, nil
}

func (sh *shardState) startAdopted(ctx context.Context, found []stored) error {
	programs, err := sh.programs(ctx, found)
	if err != nil {
		return err
	}
	var ends []ending
	var fresh []*instance
	for _, s := range found {
		if sh.hasInstance(s.id) {
			continue
		}
		sh.begins(programs[s.workflow], s, &ends)
		if inst := sh.instances[s.id]; inst != nil {
			fresh = append(fresh, inst)
		}
	}
	sh.fileAll(fresh)
	sh.publish()
	return sh.endAll(ctx, ends)
}
