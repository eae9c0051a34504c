package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/internal/pause"
)

// load keeps instances in flight. Each place has a submitter, so that one that hangs holds up no other.
type load struct {
	run *run

	mu      sync.Mutex
	random  *rand.Rand
	made    []protocol.Instance // all, in the order in which they were made
	open    map[string]bool     // submitted, or about to be, and not known to have ended
	again   []protocol.Instance // unanswered ones, to be submitted again
	stopped bool                // no new instance is made
}

func newLoad(r *run) *load {
	return &load{run: r, random: rand.New(rand.NewPCG(r.Seed, 0x10ad)), open: map[string]bool{}}
}

// batchMax bounds the instances of a submission.
const batchMax = 4

// next returns instances to be submitted; nil: none at present.
func (l *load) next() []protocol.Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := min(batchMax, len(l.again)); n > 0 {
		batch := slices.Clone(l.again[:n])
		l.again = l.again[n:]
		return batch
	}
	if l.stopped {
		return nil
	}
	for id := range l.open {
		if l.run.history.hasEnded(id) {
			delete(l.open, id)
		}
	}
	n := min(1+l.random.IntN(batchMax), l.run.InFlight-len(l.open))
	var batch []protocol.Instance
	for range n {
		i := len(l.made)
		in := protocol.Instance{ID: fmt.Sprintf("i%d", i+1), Workload: l.run.Workloads[i%len(l.run.Workloads)].Name}
		l.made, batch, l.open[in.ID] = append(l.made, in), append(batch, in), true
	}
	return batch
}

// stop ends the load: only what is unanswered is submitted again.
func (l *load) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// ids returns the ids of all instances that were made.
func (l *load) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]string, len(l.made))
	for i, in := range l.made {
		ids[i] = in.ID
	}
	return ids
}

// openIDs returns the ids of the instances that are not known to have ended.
func (l *load) openIDs() (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.open {
		if !l.run.history.hasEnded(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// hasUnanswered reports whether instances are to be submitted again.
func (l *load) hasUnanswered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.again) > 0
}

// submitPause is how long a submitter waits if there is nothing to submit.
const submitPause = 5 * time.Millisecond

// submitAll submits through a place until ctx ends.
func (l *load) submitAll(ctx context.Context, p *place) {
	for ctx.Err() == nil {
		in := p.working()
		var batch []protocol.Instance
		if in != nil {
			batch = l.next()
		}
		if len(batch) == 0 {
			_ = pause.For(ctx, submitPause)
			continue
		}
		if err := l.submit(ctx, p, in, batch); err != nil {
			l.giveUp(batch)
			_ = pause.For(ctx, submitPause)
		}
	}
}

// giveUp handles a batch that was refused or not answered.
func (l *load) giveUp(batch []protocol.Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run.promises().Resubmit == protocol.Once {
		l.again = append(l.again, batch...)
		return
	}
	for _, in := range batch { // nobody knows what becomes of them
		delete(l.open, in.ID)
	}
}

// answerWithin bounds the wait for an answer. A connection that hangs makes a system exceed it.
const answerWithin = 10 * time.Second

// submit submits a batch, and notes what came of it.
func (l *load) submit(ctx context.Context, p *place, in *incarnation, batch []protocol.Instance) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	call, err := in.NewSubmit(ctx, batch)
	if err != nil {
		return err
	}
	h := l.run.history
	number := h.incarnationOf(p.number)
	h.note(judge.Entry{Kind: judge.Sent, Process: p.number, Incarnation: number, Batch: call.Batch, Instances: batch})
	return l.run.conclude(ctx, p, in, call, number)
}

// conclude writes a call and awaits its answer, which the observer notes; no answer is noted here.
func (r *run) conclude(ctx context.Context, p *place, in *incarnation, call *host.Call, number int) error {
	err := in.Write(ctx, call.Line)
	if err == nil {
		_, err = call.Await(ctx)
	}
	var refused *host.Refused
	if err != nil && !errors.As(err, &refused) {
		r.history.note(judge.Entry{Kind: judge.Unanswered, Process: p.number, Incarnation: number, Batch: call.Batch, Message: err.Error()})
	}
	return err
}
