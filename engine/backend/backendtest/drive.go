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

// DriveConfig configures Drive. The zero value is one worker that completes all its tasks in one batch, in the order in which it
// received them.
type DriveConfig struct {
	Actions map[string]Func   // by name; nil: Actions(). A missing action fails with UnknownAction
	Peers   []backend.Backend // further backends on the same store, assigned to workers in turn
	Workers int               // goroutines; zero: one
	Max     int               // node runs that a worker claims at once; zero: 8
	Batch   int               // maximal completions of a call; zero: all held
	Lease   time.Duration     // zero: a minute
	Poll    time.Duration     // pause of a worker without work, longer when repeated; zero: 2 ms

	// Seed shuffles the order of completions and the sizes of batches; zero keeps the order.
	Seed uint64

	// Advance moves the store's clock instead of a pause; nil pauses.
	Advance func(d time.Duration)

	// Lose reports that the worker dies with the task: it comes back when its lease has expired. It is called concurrently; nil
	// loses none.
	Lose func(backend.Task) bool

	// Again reports that a call with this error is repeated, like every call with an unknown outcome; otherwise the error ends
	// the drive.
	Again func(error) bool
}

// Drive submits instances and plays the engine until all have ended: claim, run actions, complete. It repeats what a backend
// answers Again, and returns what it saw. Its error is the backend's first, or names the instances that had not ended when ctx
// did.
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

type drive struct {
	cfg      DriveConfig
	backends []backend.Backend
	rec      *recorder

	mu        sync.Mutex
	open      map[uuid.UUID]bool
	first     []backend.Task
	remaining atomic.Int64
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

// call makes a call until it does not fail in a way that Again covers. It returns the instant before the call that succeeded.
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

func (d *drive) ended(out backend.Committed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, inst := range out.Ended {
		delete(d.open, inst.ID)
	}
	d.remaining.Store(int64(len(d.open)))
}

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

const mostDoublings = 3

type worker struct {
	d          *drive
	b          backend.Backend
	rng        *rand.Rand // nil keeps the order
	held       [][]backend.Task
	shard      int // the next to claim from
	idle       int // empty claims in a row
	emptyWaits int // pauses in a row that brought nothing
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

func (w *worker) keepTasks(tasks []backend.Task) {
	for _, t := range tasks {
		if w.d.cfg.Lose != nil && w.d.cfg.Lose(t) {
			continue
		}
		shard := backend.ShardOf(t.Lease.Key.Instance, len(w.held))
		w.held[shard] = append(w.held[shard], t)
	}
}

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
		rest <<= min(w.emptyWaits, mostDoublings) // leaves the processor to busy workers
		w.emptyWaits++
	}
	pause(ctx, rest, w.d.cfg.Advance)
	return nil
}

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

// unlessDone drops the error of a call that was cut off because everything is done or another worker failed.
func (w *worker) unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

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
