package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/scenarios/behaviour"
)

// Lengths of turns: the largest size, which runs once and takes longest, has longer ones.
const (
	turnLargest = 160 * time.Millisecond
	turnOthers  = 30 * time.Millisecond
)

// lane runs instances of one size sequentially on its own engine and schema. All lanes take turns of a fraction of a second, so
// that a changing speed of the machine affects all sizes alike. A lane stops where an action or the next instance would begin,
// when no commit is under way.
type lane struct {
	load  workload
	stage *stage
	once  bool

	mu        sync.Mutex
	turn      bool
	come      chan struct{}
	idleUntil chan struct{} // has an item when a goroutine waits for the turn
	over      bool
	done      chan struct{}
	err       error // read after done

	ended int
	spent spent
}

type spent struct {
	time     time.Duration
	walBytes int64
	rowsRead int64
}

func (l *lane) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		turn, come := l.turn, l.come
		if !turn {
			select {
			case l.idleUntil <- struct{}{}:
			default:
			}
		}
		l.mu.Unlock()
		if turn {
			return ctx.Err()
		}
		select {
		case <-come:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// release begins the lane's turn; take ends it, and returns when nothing runs in the lane.
func (l *lane) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.idleUntil: // drain an earlier one
	default:
	}
	l.turn = true
	close(l.come)
}

func (l *lane) acquire(ctx context.Context) error {
	l.mu.Lock()
	l.turn, l.come = false, make(chan struct{})
	l.mu.Unlock()
	select {
	case <-l.idleUntil:
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func (l *lane) run(ctx context.Context) {
	defer close(l.done)
	for {
		if l.err = l.wait(ctx); l.err != nil {
			return
		}
		if l.err = l.stage.run(ctx, l.load); l.err != nil {
			return
		}
		l.ended++
		l.mu.Lock()
		over := l.over || l.once
		l.mu.Unlock()
		if over {
			return
		}
	}
}

type byTurns struct {
	worker.Executor
	lane *lane
}

func (b *byTurns) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	_ = b.lane.wait(ctx) // the action notices if ctx has ended
	return b.Executor.Execute(ctx, task)
}

type turns struct {
	conn  *pgx.Conn
	lanes []*lane // the last is the largest
}

func (t *turns) round(ctx context.Context) error {
	for i, l := range t.lanes {
		length := turnOthers
		if i == len(t.lanes)-1 {
			length = turnLargest
		}
		if l.finished() {
			continue
		}
		err := t.spend(ctx, l, func() error {
			l.release()
			timer := time.NewTimer(length)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-l.done:
			case <-ctx.Done():
			}
			return l.acquire(ctx)
		})
		if err != nil {
			return fmt.Errorf("size %d: %w", l.load.Size, err)
		}
	}
	return nil
}

func (l *lane) finished() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (t *turns) spend(ctx context.Context, l *lane, work func() error) error {
	before, err := walBytes(ctx, t.conn)
	if err != nil {
		return err
	}
	from := time.Now()
	if err := work(); err != nil {
		return err
	}
	l.spent.time += time.Since(from)
	after, err := walBytes(ctx, t.conn)
	l.spent.walBytes += after - before
	return err
}

func walBytes(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, query("wal")).Scan(&n)
	return n, err
}

// run runs all lanes until the largest is done, and then finishes each lane's started instance.
func (t *turns) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, l := range t.lanes {
		wg.Go(func() { l.run(ctx) })
	}
	largest := t.lanes[len(t.lanes)-1]
	for left := len(t.lanes); left > 0; {
		if err := t.round(ctx); err != nil {
			return err
		}
		left = 0
		for _, l := range t.lanes {
			l.mu.Lock()
			l.over = largest.finished()
			l.mu.Unlock()
			if !l.finished() {
				left++
			}
		}
	}
	for _, l := range t.lanes {
		if got, want := int(l.stage.applied.Load()), l.ended*l.load.Nodes; got != want {
			return fmt.Errorf("size %d: %d node runs were applied, not %d", l.load.Size, got, want)
		}
		err := t.spend(ctx, l, func() error {
			_, err := l.stage.clear(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byTurns runs all sizes of a scenario by turns, once per repetition, and returns for each repetition the lanes by size, with
// their costs.
func (l *lab) byTurns(ctx context.Context, scenario string, sizes []int, backends []string) (map[string][][]*lane, error) {
	out := map[string][][]*lane{}
	for run := range l.runs {
		backends := slices.Clone(backends)
		if run%2 == 1 {
			slices.Reverse(backends)
		}
		for _, backend := range backends {
			lanes, err := l.measureAlternately(ctx, scenario, sizes, backend)
			if err != nil {
				return nil, fmt.Errorf("%s of several sizes by turns on %s: %w", scenario, backend, err)
			}
			largest := lanes[len(lanes)-1]
			l.printf("run %d of %d: %s of %v by turns on %s: %.3g ms a node at the largest", run+1, l.runs, scenario, sizes, backend,
				float64(largest.spent.time)/float64(largest.load.Nodes)/float64(time.Millisecond))
			out[backend] = append(out[backend], lanes)
		}
	}
	return out, nil
}

func (l *lab) measureAlternately(ctx context.Context, scenario string, sizes []int, backend string) (_ []*lane, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*runTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, l.cfg.DSN)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	t := &turns{conn: conn}
	defer func() {
		for _, lane := range t.lanes {
			lane.stage.close(ctx)
		}
	}()
	before := make([]*measure.Counters, len(sizes))
	scopes := make([]measure.Scope, len(sizes))
	for i, size := range sizes {
		lane := &lane{once: i == len(sizes)-1, come: make(chan struct{}), idleUntil: make(chan struct{}, 1), done: make(chan struct{})}
		if lane.load, err = newWorkload(scenario, size); err != nil {
			return nil, err
		}
		lane.stage = prepareStage(l.cfg.DSN)
		scopes[i] = measure.Scope{Schema: lane.stage.schema, AppPrefix: stageApplication}
		if before[i], err = measure.Snapshot(ctx, conn, scopes[i]); err != nil {
			return nil, err
		}
		t.lanes = append(t.lanes, lane)
	}
	for _, lane := range t.lanes {
		if err := lane.start(ctx, backend); err != nil {
			return nil, err
		}
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	for _, lane := range t.lanes {
		lane.stage.leave(ctx)
	}
	for i, lane := range t.lanes {
		if lane.spent.rowsRead, err = rowsRead(ctx, conn, scopes[i], before[i]); err != nil {
			return nil, err
		}
	}
	return t.lanes, nil
}

func rowsRead(ctx context.Context, conn *pgx.Conn, scope measure.Scope, before *measure.Counters) (int64, error) {
	after, err := measure.Snapshot(ctx, conn, scope)
	if err != nil {
		return 0, err
	}
	counters, warnings := measure.Delta(before, after)
	if counters.RowsRead == nil {
		return 0, errors.New("rows read: " + fmt.Sprint(warnings))
	}
	return *counters.RowsRead, nil
}

// start starts the lane's engine. It cleans up only at the end: cleanup in between would fall into another lane's turn.
func (l *lane) start(ctx context.Context, backend string) error {
	return l.stage.start(ctx, backend, engine.Config{Workers: &byTurns{behaviour.Plain().Timed(), l}, Lease: time.Minute, Sweep: 24 * time.Hour})
}

func points(all [][]*lane, of func(spent) float64) [][]point {
	var out [][]point
	for _, lanes := range all {
		var one []point
		for _, l := range lanes {
			one = append(one, point{float64(l.load.Nodes), of(l.spent) / float64(l.ended)})
		}
		out = append(out, one)
	}
	return out
}
