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

	"pulley/engine/graph"
	"pulley/engine/plan"
)

const (
	// loadEvents is how many events are read at once.
	loadEvents = 20_000
	// adoptMost is how many instances that others stored are taken up in one statement.
	adoptMost = 50
)

// stored is an instance as the store has it.
type stored struct {
	id       uuid.UUID
	workflow int32
	input    []byte
	age      time.Duration // since it was submitted
	snapshot int64         // the seq of the event that has its state; zero: none
}

func scanStored(row pgx.CollectableRow) (stored, error) {
	var s stored
	var micros int64
	err := row.Scan(&s.id, &s.workflow, &s.input, &micros, &s.snapshot)
	s.age = time.Duration(micros) * time.Microsecond
	return s, err
}

// load makes the memory of a shard from what is durable: it begins the running instances and applies what
// happened to them, in its order, through the code that applied it first. Node runs that somebody was at work on
// are ready again, but for those whose leases came along.
func (sh *shardState) load(ctx context.Context, epoch int64) error {
	lost, lostEpoch := sh.lost, sh.lostEpoch
	sh.lost, sh.lostEpoch = nil, 0
	sh.instances, sh.broken = map[uuid.UUID]*instance{}, map[uuid.UUID]error{}
	sh.tokens, sh.seq = epoch<<tokenBits, 1
	rows, err := sh.b.store.Pool.Query(ctx, loadInstancesSQL, sh.number)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, scanStored)
	if err != nil {
		return err
	}
	for _, s := range found {
		if s.snapshot != 0 {
			err = sh.awaits(ctx, s)
		} else {
			err = sh.begins(ctx, s, nil)
		}
		if err != nil {
			return err
		}
	}
	for n := loadEvents; n == loadEvents; {
		if n, err = sh.replay(ctx); err != nil {
			return err
		}
	}
	leases, err := sh.takeLeases(ctx)
	if err != nil {
		return err
	}
	if lostEpoch != 0 && lostEpoch+1 == epoch {
		leases = append(leases, lost...)
	}
	sh.attach(leases)
	sh.fileAll(slices.Collect(maps.Values(sh.instances)))
	sh.weigh()
	return nil
}

// endAll ends instances that others stored and whose beginning is their end.
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

// begins begins an instance in memory that the store has. One whose beginning cannot be planned is set aside, so
// that it harms no other; one that ends with it, which only somebody else can have stored, is added to ends, where
// there is such a list. The node runs are not filed yet.
func (sh *shardState) begins(ctx context.Context, s stored, ends *[]ending) error {
	program, err := sh.b.store.Program(ctx, s.workflow)
	if err != nil {
		return err
	}
	inst := &instance{id: s.id, program: program, workflow: s.workflow}
	p, err := program.Start(s.input)
	if err != nil {
		sh.broken[s.id] = err
		return nil
	}
	t := sh.begin()
	t.now -= int64(s.age)
	if err := t.start(inst, p); err != nil {
		t.rollback(savepoint{})
		sh.setAside(inst, err)
		return nil
	}
	if len(t.ends) > 0 && ends == nil {
		sh.setAside(inst, fmt.Errorf("instance %s ends with its beginning, and is stored as running", s.id))
		return nil
	}
	if ends != nil {
		*ends = append(*ends, t.ends...)
	}
	return nil
}

// awaits puts an instance into memory whose state comes with an event.
func (sh *shardState) awaits(ctx context.Context, s stored) error {
	program, err := sh.b.store.Program(ctx, s.workflow)
	if err == nil {
		sh.instances[s.id] = &instance{id: s.id, program: program, workflow: s.workflow, snapshot: s.snapshot}
	}
	return err
}

func (sh *shardState) setAside(inst *instance, err error) {
	delete(sh.instances, inst.id)
	inst.gone = true
	sh.broken[inst.id] = err
}

// replay applies the next events, and gives how many were read.
func (sh *shardState) replay(ctx context.Context) (int, error) {
	rows, err := sh.b.store.Pool.Query(ctx, loadEventsSQL, sh.number, sh.seq, loadEvents)
	if err != nil {
		return 0, err
	}
	t := sh.begin()
	t.final = true
	now := t.now
	n := 0
	var seq, age int64
	var id uuid.UUID
	var kind int16
	var node int32
	var path string
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &id, &kind, &node, &path, &age, &data}, func() error {
		n++
		sh.seq = seq + 1
		sh.pages.add(seq)
		inst := sh.instances[id]
		if inst == nil || seq < inst.snapshot {
			if sh.broken[id] == nil {
				sh.pages.drop([]int64{seq})
			}
			return nil
		}
		inst.events = append(inst.events, seq)
		t.now = now - age*1000
		if err := t.again(inst, kind, graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}, bytes.Clone(data)); err != nil {
			sh.setAside(inst, fmt.Errorf("event %d: %w", seq, err))
		}
		return nil
	})
	return n, err
}

// again applies an event that has happened.
func (t *tx) again(inst *instance, kind int16, key graph.Run, data []byte) error {
	if kind == kindSnapshot {
		return t.restore(inst, data)
	}
	r, ok := inst.runs.get(ofRun(key))
	if !ok {
		return fmt.Errorf("instance %s: %s has ended, and was not under way", inst.id, inst.program.RunName(key))
	}
	ev := plan.Event{Run: r.key, Attempt: int(r.attempt)}
	switch kind {
	case kindResult:
		ev.Result = data
	case kindFailure:
		ev.Failure = &plan.Failure{}
		if err := json.Unmarshal(data, ev.Failure); err != nil {
			return err
		}
	case kindRetry:
		after, ok := readInt(data)
		if !ok {
			return fmt.Errorf("instance %s: %s is tried again, and nothing says when", inst.id, inst.program.RunName(key))
		}
		t.retry(r, after)
		return nil
	default:
		return fmt.Errorf("instance %s: an event of the kind %d", inst.id, kind)
	}
	p, err := t.step(inst, ev, 0)
	if err != nil {
		return err
	}
	if p.Retry != nil {
		return fmt.Errorf("instance %s: %s is tried again, and was not", inst.id, inst.program.RunName(key))
	}
	return t.completed(r, p, 0)
}

func (sh *shardState) takeLeases(ctx context.Context) ([]handed, error) {
	rows, err := sh.b.store.Pool.Query(ctx, takeLeasesSQL, sh.number)
	if err != nil {
		return nil, err
	}
	now := sh.b.now()
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (handed, error) {
		var h handed
		var micros int64
		err := row.Scan(&h.instance, &h.key.Node, &h.key.Path, &h.token, &micros)
		h.due = now + micros*1000
		return h, err
	})
}

// fileAll puts the runs of instances where their places say, in the order of their enqueues.
func (sh *shardState) fileAll(instances []*instance) {
	var runs []*run
	for _, inst := range instances {
		inst.runs.each(func(_ address, r *run) { runs = append(runs, r) })
	}
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.order, b.order) })
	for _, r := range runs {
		sh.file(r)
	}
}

// adopt takes up instances that others have stored, and gives how many.
func (sh *shardState) adopt(ctx context.Context) (int, error) {
	adopted := 0
	for n := adoptMost; n == adoptMost && !sh.b.full(); {
		rows, err := sh.b.store.Pool.Query(ctx, adoptSQL, sh.number, sh.epoch.Load(), adoptMost)
		if err != nil {
			return adopted, err
		}
		found, err := pgx.CollectRows(rows, scanStored)
		if err != nil {
			if len(found) > 0 || !isNotSent(err) {
				sh.suspend() // some may be marked as taken up and not be known: load looks at all
			}
			return adopted, err
		}
		n = len(found)
		if err := sh.takeUp(ctx, found); err != nil {
			sh.suspend()
			return adopted, err
		}
		adopted += n
	}
	return adopted, nil
}

// takeUp begins instances that are new here.
func (sh *shardState) takeUp(ctx context.Context, found []stored) error {
	var ends []ending
	var fresh []*instance
	for _, s := range found {
		if sh.instances[s.id] != nil || sh.broken[s.id] != nil {
			continue
		}
		if err := sh.begins(ctx, s, &ends); err != nil {
			return err
		}
		if inst := sh.instances[s.id]; inst != nil {
			fresh = append(fresh, inst)
		}
	}
	sh.fileAll(fresh)
	sh.publish()
	return sh.endAll(ctx, ends)
}
