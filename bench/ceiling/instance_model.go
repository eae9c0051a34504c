package ceiling

import "context"

// instanceModel models the instances of a stream of completions, each of the same number of node runs (0: none): an instance
// ends with its last completion, and another is submitted. It holds the arrays for both.
type instanceModel struct {
	nodes int64

	ords, ended, results, tokens, created, workflows, inputs array
}

const workflow = 1

func (l *instanceModel) before(n int64) int64 {
	if l.nodes == 0 {
		return 0
	}
	return n / l.nodes
}

// ahead is the number of running instances: those with node runs in the queue, and those around them.
func (l *instanceModel) ahead(depth int64) int64 {
	if l.nodes == 0 {
		return 0
	}
	return depth/l.nodes + 2
}

func (l *instanceModel) last(n int64) bool { return l.nodes != 0 && (n+1)%l.nodes == 0 }

func (l *instanceModel) begin() {
	l.ords.begin(intType)
	l.ended.begin(uuidType)
	l.results.begin(jsonType)
	l.tokens.begin(bigintType)
	l.created.begin(uuidType)
	l.workflows.begin(intType)
	l.inputs.begin(jsonType)
}

// turn fills the arrays with the instances that the next call ends, and as many new ones; it returns their number.
func (s *stream) turn() int64 {
	l := &s.modelled
	from, to := l.before(s.next), l.before(s.next+s.size)
	if from == to {
		return 0
	}
	l.begin()
	for k := from; k < to; k++ {
		last := (k+1)*l.nodes - 1
		id := s.id(k)
		l.ords.int32(int32(last - s.next))
		l.ended.raw(id[:])
		l.results.raw(payload)
		l.tokens.int64(s.token(last))
		s.bear(k + l.ahead(s.depth))
	}
	return to - from
}

func (s *stream) bear(k int64) {
	id := s.id(k)
	s.modelled.created.raw(id[:])
	s.modelled.workflows.int32(workflow)
	s.modelled.inputs.raw(payload)
}

func (s *stream) bearFirst(ctx context.Context) error {
	first := s.modelled.ahead(s.depth)
	if first == 0 {
		return nil
	}
	s.modelled.begin()
	for k := range first {
		s.bear(k)
	}
	return s.bearAll(ctx, first)
}

func (s *stream) bearAll(ctx context.Context, rows int64) error {
	l := &s.modelled
	s.param(bigShort(s.shard), l.created.bytes(), l.workflows.bytes(), l.inputs.bytes())
	return s.exec(ctx, "bear", rows)
}

func (s *stream) endAll(ctx context.Context, name string, rows int64) error {
	l := &s.modelled
	s.param(bigShort(s.shard), l.ended.bytes(), l.results.bytes(), l.tokens.bytes())
	return s.exec(ctx, name, rows)
}

// tally is what writers have made durable, compared with the rows in the tables.
type tally struct {
	completions int64
	queued      int64
	running     int64
	ended       int64

	values, elements, raises int64
}

func (t *tally) add(o tally) {
	t.completions += o.completions
	t.queued += o.queued
	t.running += o.running
	t.ended += o.ended
	t.values += o.values
	t.elements += o.elements
	t.raises += o.raises
}

// rows is the count that a counting statement must find under a name. A completion that ends its instance has no event: the
// instance's row shows it.
func (t *tally) rows(name string) int64 {
	switch name {
	case "queue":
		return t.queued
	case "inbox":
		return t.values
	case "elements":
		return t.elements
	case "readiness":
		return t.raises
	case "events":
		return t.completions - t.ended
	case "instances that run":
		return t.running
	case "instances that ended":
		return t.ended
	}
	return t.completions
}
