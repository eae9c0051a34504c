package explore

// occurrence is something that is to happen, to a process in one of its lives or, without one, to the world.
type occurrence struct {
	at   int64  // ns since the world began
	tie  uint32 // drawn: the order of what happens at the same moment
	life uint32 // of the process
	seq  uint64 // in which they were made, where the draw is a tie too
	to   *process
	do   func()
}

func (o *occurrence) before(p *occurrence) bool {
	if o.at != p.at {
		return o.at < p.at
	}
	if o.tie != p.tie {
		return o.tie < p.tie
	}
	return o.seq < p.seq
}

// calendar is a heap of what is to happen.
type calendar []occurrence

func (c *calendar) push(o occurrence) {
	h := append(*c, o)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*c = h
}

func (c *calendar) pop() occurrence {
	h := *c
	first := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h[last] = occurrence{}
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if right := down + 1; right < last && h[right].before(&h[down]) {
			down = right
		}
		if !h[down].before(&h[i]) {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	*c = h
	return first
}
