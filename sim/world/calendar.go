package world

// occurrence is a scheduled act of the world (to is nil) or of one incarnation of a process.
type occurrence struct {
	at          int64  // ns since the world began
	tie         uint32 // random; orders occurrences of the same moment
	incarnation uint32
	seq         uint64 // order of scheduling, where tie is equal too
	to          *Process
	actor       actor
	act         int
}

// actor acts in an occurrence; act selects which of its acts.
type actor interface {
	// isStale reports whether the act has become pointless. The world then skips it and does not count a step.
	isStale(act int) bool
	do(act int)
}

// actOnce is a function that acts once and is never stale.
type actOnce func()

func (actOnce) isStale(int) bool { return false }
func (f actOnce) do(int)         { f() }

// calendar is a heap of occurrences. The heap holds only small keys without pointers; the occurrences stay in place in entries.
type calendar struct {
	heap    []place
	entries []occurrence
	free    []int32 // unused indices of entries
	moot    int     // occurrences that were cancelled and may still be here
}

// place is the sort key of an occurrence and its index in entries.
type place struct {
	at    int64
	tie   uint32
	entry int32
}

func (c *calendar) before(a, b *place) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return c.entries[a.entry].seq < c.entries[b.entry].seq
}

func (c *calendar) empty() bool { return len(c.heap) == 0 }

func (c *calendar) push(o occurrence) {
	var lie int32
	if n := len(c.free); n > 0 {
		lie, c.free = c.free[n-1], c.free[:n-1]
		c.entries[lie] = o
	} else {
		lie = int32(len(c.entries))
		c.entries = append(c.entries, o)
	}
	p := place{o.at, o.tie, lie}
	c.heap = append(c.heap, p)
	h := c.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(&p, &h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = p
}

func (c *calendar) pop() occurrence {
	first := c.heap[0]
	last := len(c.heap) - 1
	p := c.heap[last]
	c.heap = c.heap[:last]
	if last > 0 {
		c.sink(0, p)
	}
	return c.remove(first.entry)
}

func (c *calendar) remove(lie int32) occurrence {
	o := c.entries[lie]
	c.entries[lie] = occurrence{}
	c.free = append(c.free, lie)
	return o
}

// sink puts a place into the heap, at i or below. A place from the heap's end mostly belongs at the bottom: sink therefore moves
// smaller children up all the way, and then lets the place rise.
func (c *calendar) sink(i int, p place) {
	h, top := c.heap, i
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if right := down + 1; right < len(h) && c.before(&h[right], &h[down]) {
			down = right
		}
		h[i] = h[down]
		i = down
	}
	for i > top {
		up := (i - 1) / 2
		if !c.before(&p, &h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = p
}

// mootMin is how many cancelled occurrences there are before they are removed.
const mootMin = 32

// noteCancelled counts a cancelled occurrence. It removes stale ones once they make up half of the heap.
func (c *calendar) noteCancelled() {
	if c.moot++; c.moot < mootMin || 2*c.moot < len(c.heap) {
		return
	}
	c.moot = 0
	kept := c.heap[:0]
	for _, p := range c.heap {
		if o := &c.entries[p.entry]; o.actor.isStale(o.act) {
			c.remove(p.entry)
			continue
		}
		kept = append(kept, p)
	}
	c.heap = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		c.sink(i, kept[i])
	}
}
