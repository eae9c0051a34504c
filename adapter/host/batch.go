package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/adapter/protocol"
)

// Call is a batch that is submitted or looked at. Submit and Look make, write and await it; a caller that does so in steps can
// write its line in unusual ways.
type Call struct {
	Batch int64
	Line  []byte // to be written

	process *Process
	kind    protocol.Kind          // of the answer
	ids     map[string]bool        // of look: those that were asked for
	answer  chan protocol.Response // capacity 1
}

// NewSubmit prepares a batch of instances. It waits while the process has too many open batches. A batch without an answer
// remains open, even if nobody waits for it.
func (p *Process) NewSubmit(ctx context.Context, instances []protocol.Instance) (*Call, error) {
	if err := p.host.learnInstances(instances); err != nil {
		return nil, err
	}
	return p.call(ctx, protocol.Request{Kind: protocol.KindSubmit, Instances: instances}, protocol.KindSubmitted)
}

// NewLook prepares a question for instances, as NewSubmit does.
func (p *Process) NewLook(ctx context.Context, ids []string) (*Call, error) {
	return p.call(ctx, protocol.Request{Kind: protocol.KindLook, IDs: ids}, protocol.KindStates)
}

func (p *Process) call(ctx context.Context, r protocol.Request, answer protocol.Kind) (*Call, error) {
	ids := make(map[string]bool, len(r.IDs))
	for _, id := range r.IDs {
		ids[id] = true
	}
	if len(ids) < len(r.IDs) {
		return nil, errTwice
	}
	ctx, cancel := bound(ctx, AnswerTimeout)
	defer cancel()
	begun := time.Now()
	select {
	case p.slots <- struct{}{}:
	case <-p.over:
		return nil, p.failure()
	case <-ctx.Done():
		return nil, p.late(ctx, fmt.Sprintf("answer to one of %d open batches", cap(p.slots)), begun)
	}
	c := &Call{Batch: p.host.batches.Add(1), process: p, kind: answer, ids: ids, answer: make(chan protocol.Response, 1)}
	r.Batch = c.Batch
	var err error
	if c.Line, err = r.Line(); err != nil {
		<-p.slots
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c.Batch] = c
	return c, nil
}

// Await waits for the answer, for AnswerTimeout by default. The answer error is a [Refused].
func (c *Call) Await(ctx context.Context) (protocol.Response, error) {
	ctx, cancel := bound(ctx, AnswerTimeout)
	defer cancel()
	r, err := await(ctx, c.process, c.answer, fmt.Sprintf("%s as the answer to batch %d", c.kind, c.Batch))
	if err == nil && r.Kind == protocol.KindError {
		err = &Refused{Process: c.process.number, Batch: c.Batch, Message: r.Message}
	}
	return r, err
}

// Submit submits instances in one batch, and returns when the process has answered that they are stored, within AnswerTimeout by
// default. After an error nobody knows which instances are stored.
func (p *Process) Submit(ctx context.Context, instances []protocol.Instance) error {
	ctx, cancel := bound(ctx, AnswerTimeout)
	defer cancel()
	c, err := p.NewSubmit(ctx, instances)
	if err != nil {
		return err
	}
	_, err = c.writeAndAwait(ctx)
	return err
}

func (c *Call) writeAndAwait(ctx context.Context) (protocol.Response, error) {
	if err := c.process.Write(ctx, c.Line); err != nil {
		return protocol.Response{}, err
	}
	return c.Await(ctx)
}

// Bounds of one look, so that its answer fits into a line.
const (
	lookMax      = 1000
	lookBytesMax = 4 << 20
	stateBytes   = 200 // of a state without its value's padding
)

// Look asks the process what the store knows of instances, in the order of ids, in several batches if the answer would be long.
// Each batch has AnswerTimeout by default.
func (p *Process) Look(ctx context.Context, ids []string) ([]protocol.State, error) {
	var states []protocol.State
	for len(ids) > 0 {
		n := p.host.fitting(ids)
		c, err := p.NewLook(ctx, ids[:n])
		if err != nil {
			return nil, err
		}
		r, err := c.writeAndAwait(ctx)
		if err != nil {
			return nil, err
		}
		states, ids = append(states, inOrder(ids[:n], r.States)...), ids[n:]
	}
	return states, nil
}

// fitting returns how many of the ids' states fit into a line, at least one.
func (h *Host) fitting(ids []string) int {
	sum := 0
	for i, id := range ids {
		size := stateBytes + len(id)
		if w := h.workloadOf(id); w != nil {
			size += w.Task(w.Result).Bytes
		}
		if sum += size; i > 0 && sum > lookBytesMax || i == lookMax {
			return i
		}
	}
	return len(ids)
}

var errTwice = errors.New("the ids of a look have one twice")

// inOrder sorts states, which are exactly those of the ids.
func inOrder(ids []string, states []protocol.State) []protocol.State {
	byID := make(map[string]protocol.State, len(states))
	for _, s := range states {
		byID[s.ID] = s
	}
	sorted := make([]protocol.State, 0, len(ids))
	for _, id := range ids {
		sorted = append(sorted, byID[id])
	}
	return sorted
}
