package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// DriveConfig says how Drive runs instances. The zero value is one worker that completes everything
// it holds in one batch, in the order in which it was handed out.
type DriveConfig struct {
	Actions map[string]Func   // by name; nil: Actions(). An action that is missing fails with UnknownAction
	Peers   []backend.Backend // further backends on the same store; workers take turns over all
	Workers int               // goroutines; zero: one
	Max     int               // node runs that a worker asks for at once; zero: 8
	Batch   int               // completions in a call at most; zero: all that are held
	Lease   time.Duration     // zero: a minute
	Poll    time.Duration     // wait of a worker that found nothing to do, longer when that was so before; zero: 2 ms

	// Seed shuffles the order in which tasks are completed and the sizes of batches; zero keeps the
	// order.
	Seed uint64

	// Advance moves the store's clock, and is called instead of waiting; nil waits.
	Advance func(d time.Duration)

	// Lose says that the worker dies with the task: it is not run and not completed, and comes back
	// when its lease has expired. It is called by many goroutines; nil loses none.
	Lose func(backend.Task) bool

	// Again says that a call which failed with the error is made again, as is every call whose outcome
	// is unknown; nil ends the drive with the error.
	Again func(error) bool
}

// Drive submits instances and plays the engine until all have ended: claim, run actions, complete. It
// offers again what a backend answers Again, and returns what it saw; the error is the first that a backend gave, or says which instances had not
// ended when ctx did.
func Drive(ctx context.Context, b backend.Backend, subs []backend.Submission, cfg DriveConfig) (*Recording, error) {
	d := newDrive(b, cfg)
	if err := d.submit(ctx, subs); err != nil {
		return &d.rec.rec, err
	}
	if err := d.work(ctx); err != nil {
		return &d.rec.rec, err
	}
	if left := d.remaining.Load(); left > 0 {
		return &d.rec.rec, fmt.Errorf("drive: %d of %d instances have not ended (I9): %w", left, len(d.rec.rec.Programs), context.Cause(ctx))
	}
	return &d.rec.rec, d.read(ctx)
}

// work lets the workers go on until all instances have ended, ctx has, or one of them fails.
func (d *drive) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := make(chan error, d.cfg.Workers)
	var workers sync.WaitGroup
	for i := range d.cfg.Workers {
		workers.Go(func() {
			if err := d.worker(i).work(ctx); err != nil {
				failed <- err
				cancel(err)
			}
		})
	}
	workers.Wait()
	close(failed)
	return <-failed
}

// drive is what the workers of one Drive share.
type drive struct {
	cfg      DriveConfig
	backends []backend.Backend
	rec      *recorder

	mu        sync.Mutex
	open      map[uuid.UUID]bool // instances that have not ended
	first     []backend.Task     // leased by the submission
	remaining atomic.Int64       // as many as open
}

func newDrive(b backend.Backend, cfg DriveConfig) *drive {
	if cfg.Actions == nil {
		cfg.Actions = Actions()
	}
	def := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	def(&cfg.Workers, 1)
	def(&cfg.Max, 8)
	if cfg.Lease <= 0 {
		cfg.Lease = time.Minute
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 2 * time.Millisecond
	}
	return &drive{
		cfg:      cfg,
		backends: append([]backend.Backend{b}, cfg.Peers...),
		rec:      newRecorder(),
		open:     map[uuid.UUID]bool{},
	}
}

// submit stores all instances, in one call and as many more as the backend asks for.
func (d *drive) submit(ctx context.Context, subs []backend.Submission) error {
	for _, s := range subs {
		d.open[s.ID] = true
		d.rec.rec.Programs[s.ID] = s.Program
	}
	d.remaining.Store(int64(len(d.open)))
	for len(subs) > 0 {
		out, begin, err := d.call(ctx, func() (backend.Committed, error) {
			return d.backends[0].Submit(ctx, subs, d.grant(d.cfg.Max))
		})
		if err != nil {
			return fmt.Errorf("drive: submit: %w", err)
		}
		if len(out.Outcomes) != len(subs) {
			return fmt.Errorf("drive: submit: %d outcomes for %d submissions", len(out.Outcomes), len(subs))
		}
		var again []backend.Submission
		own := make([]Step, len(subs))
		for i, o := range out.Outcomes {
			own[i] = Step{Kind: Submitted, Instance: subs[i].ID, Answer: o.Answer, Err: o.Err}
			switch o.Answer {
			case backend.Refused:
				return fmt.Errorf("drive: instance %s was refused: %w", subs[i].ID, o.Err)
			case backend.Again:
				again = append(again, subs[i])
			}
		}
		d.rec.committed(begin, own, out)
		d.ended(out)
		d.first = append(d.first, out.Tasks...)
		subs = again
	}
	return nil
}

// call makes a call until it does not fail in a way that Again covers. It gives the instant before
// the call that succeeded.
func (d *drive) call(ctx context.Context, f func() (backend.Committed, error)) (backend.Committed, int64, error) {
	for {
		begin := d.rec.begin()
		out, err := f()
		switch {
		case err == nil:
			return out, begin, nil
		case ctx.Err() != nil:
			return out, begin, context.Cause(ctx)
		case backend.IsUnknown(err):
			d.rec.lost(begin, err)
		case d.cfg.Again == nil || !d.cfg.Again(err):
			return out, begin, err
		}
	}
}

func (d *drive) grant(n int) backend.Grant {
	return backend.Grant{Owner: "drive", Max: n, Lease: d.cfg.Lease}
}

// ended crosses off instances that are over.
func (d *drive) ended(out backend.Committed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, inst := range out.Ended {
		delete(d.open, inst.ID)
	}
	d.remaining.Store(int64(len(d.open)))
}

// lookup crosses off instances whose end nobody told this drive of.
func (d *drive) lookup(ctx context.Context, b backend.Backend) error {
	d.mu.Lock()
	ids := sortedIDs(d.open)
	d.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	found, err := b.Lookup(ctx, ids)
	if err != nil {
		if ctx.Err() != nil || d.cfg.Again != nil && d.cfg.Again(err) {
			return nil
		}
		return fmt.Errorf("drive: lookup: %w", err)
	}
	var out backend.Committed
	for _, inst := range found {
		if inst.Status != "" && inst.Status != backend.Running {
			out.Ended = append(out.Ended, inst)
		}
	}
	d.ended(out)
	return nil
}

// read notes how all instances ended.
func (d *drive) read(ctx context.Context) error {
	ids := sortedIDs(d.rec.rec.Programs)
	for {
		found, err := d.backends[0].Lookup(ctx, ids)
		if err != nil && d.cfg.Again != nil && d.cfg.Again(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("drive: lookup: %w", err)
		}
		for i, inst := range found {
			d.rec.rec.Instances[ids[i]] = inst
		}
		return nil
	}
}

// mostDoublings is how often the wait of a worker that finds nothing is doubled.
const mostDoublings = 3

// worker is one of a drive's goroutines, as an engine in its own process would be.
type worker struct {
	d          *drive
	b          backend.Backend
	rng        *rand.Rand // nil keeps the order
	held       [][]backend.Task
	shard      int // the next to claim from
	idle       int // claims in a row that brought nothing
	emptyWaits int // waits in a row behind which there was nothing
}

func (d *drive) worker(i int) *worker {
	b := d.backends[i%len(d.backends)]
	w := &worker{d: d, b: b, held: make([][]backend.Task, b.Shards())}
	if d.cfg.Seed != 0 {
		w.rng = rand.New(rand.NewPCG(d.cfg.Seed, uint64(i)))
	}
	w.shard = i % b.Shards()
	if i == 0 {
		w.keepTasks(d.first)
	}
	return w
}

// work goes on until every instance has ended.
func (w *worker) work(ctx context.Context) error {
	for w.d.remaining.Load() > 0 && ctx.Err() == nil {
		busy := false
		for shard := range w.held {
			if len(w.held[shard]) == 0 {
				continue
			}
			busy = true
			if err := w.complete(ctx, shard); err != nil {
				return err
			}
		}
		if busy {
			continue
		}
		if err := w.claim(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keepTasks keeps tasks by shard, but for those that are to be lost.
func (w *worker) keepTasks(tasks []backend.Task) {
	for _, t := range tasks {
		if w.d.cfg.Lose != nil && w.d.cfg.Lose(t) {
			continue
		}
		shard := backend.ShardOf(t.Lease.Key.Instance, len(w.held))
		w.held[shard] = append(w.held[shard], t)
	}
}

// claim asks the next shard for work, and waits when none of them has any.
func (w *worker) claim(ctx context.Context) error {
	shard := w.shard
	w.shard = (w.shard + 1) % len(w.held)
	out, begin, err := w.d.call(ctx, func() (backend.Committed, error) {
		return w.b.Claim(ctx, shard, w.d.grant(w.d.cfg.Max))
	})
	if err != nil {
		return w.unlessDone(ctx, fmt.Errorf("drive: claim: %w", err))
	}
	w.d.rec.committed(begin, nil, out)
	w.d.ended(out)
	w.keepTasks(out.Tasks)
	if len(out.Tasks) > 0 {
		w.idle, w.emptyWaits = 0, 0
		return nil
	}
	if w.idle++; w.idle < len(w.held) {
		return nil
	}
	w.idle = 0
	if err := w.d.lookup(ctx, w.b); err != nil {
		return err
	}
	rest := w.d.cfg.Poll
	if w.d.cfg.Advance == nil {
		rest <<= min(w.emptyWaits, mostDoublings) // who has nothing to do takes no processor from who has
		w.emptyWaits++
	}
	pause(ctx, rest, w.d.cfg.Advance)
	return nil
}

// complete runs some of the tasks held of a shard and offers their ends.
func (w *worker) complete(ctx context.Context, shard int) error {
	tasks := w.batch(shard)
	completions := make([]backend.Completion, len(tasks))
	for i, t := range tasks {
		completions[i] = w.d.cfg.run(t)
	}
	out, begin, err := w.d.call(ctx, func() (backend.Committed, error) {
		return w.b.Complete(ctx, shard, completions, w.d.grant(w.d.cfg.Max))
	})
	if err != nil {
		return w.unlessDone(ctx, fmt.Errorf("drive: complete: %w", err))
	}
	if len(out.Outcomes) != len(completions) {
		return fmt.Errorf("drive: complete: %d outcomes for %d completions", len(out.Outcomes), len(completions))
	}
	own := make([]Step, len(out.Outcomes))
	for i, o := range out.Outcomes {
		c := completions[i]
		own[i] = Step{
			Kind: Answered, Instance: c.Lease.Key.Instance, Lease: c.Lease, Attempt: c.Attempt,
			Answer: o.Answer, Err: o.Err, Failed: c.Failure != nil,
		}
		if o.Answer == backend.Again {
			w.held[shard] = append(w.held[shard], tasks[i])
		}
	}
	w.d.rec.committed(begin, own, out)
	w.d.ended(out)
	w.keepTasks(out.Tasks)
	return nil
}

// batch takes tasks of a shard from those held.
func (w *worker) batch(shard int) []backend.Task {
	held := w.held[shard]
	n := len(held)
	if w.d.cfg.Batch > 0 {
		n = min(n, w.d.cfg.Batch)
	}
	if w.rng != nil {
		w.rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
		n = 1 + w.rng.IntN(n)
	}
	tasks := slices.Clone(held[:n])
	w.held[shard] = slices.Delete(held, 0, n)
	return tasks
}

// unlessDone drops the error of a call that was cut off because all is done or another worker failed.
func (w *worker) unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// run runs a task's action. A sleep that is over has none.
func (cfg *DriveConfig) run(t backend.Task) backend.Completion {
	c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt}
	if t.Action == "" {
		c.Result = json.RawMessage("null")
		return c
	}
	f, ok := cfg.Actions[t.Action]
	if !ok {
		c.Failure = &plan.Failure{
			Type:    "UnknownAction",
			Message: fmt.Sprintf("%q; there are %v", t.Action, slices.Sorted(maps.Keys(cfg.Actions))),
		}
		return c
	}
	c.Result, c.Failure = f(t.Args, t.Attempt)
	return c
}

// pause waits for a moment of the store's clock, or until ctx ends.
func pause(ctx context.Context, d time.Duration, advance func(time.Duration)) {
	if advance != nil {
		advance(d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
