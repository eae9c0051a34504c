package world

// occurrence is something that is to happen, to a process in one of its lives or, without one, to the world.
type occurrence struct {
	at          int64  // ns since the world began
	tie         uint32 // drawn: the order of what happens at the same moment
	incarnation uint32 // of the process
	seq         uint64 // in which they were made, where the draw is a tie too
	to          *Process
	actor       actor
	act         int
}

// actor is who acts in an occurrence; act says which of his acts it is.
type actor interface {
	// isStale says that the act has no object any more. It does not are applied then, and is no step of the world.
	isStale(act int) bool
	do(act int)
}

// actOnce is a function that acts once, and always.
type actOnce func()

func (actOnce) isStale(int) bool { return false }
func (f actOnce) do(int)         { f() }

// calendar is a heap of what is to happen. What the order hangs on is in the heap, small and without pointers; the rest
// lies still.
type calendar struct {
	heap    []place
	entries []occurrence
	free    []int32 // places in lies
	moot    int     // how many were cancelled and are there still
}

// place is where an occurrence is in the order, and where it lies.
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

// remove takes an occurrence from where it lies.
func (c *calendar) remove(lie int32) occurrence {
	o := c.entries[lie]
	c.entries[lie] = occurrence{}
	c.free = append(c.free, lie)
	return o
}

// sink puts a place into the heap, at i or below. It comes from the heap's end and mostly belongs there: it is put below all that is
// before its brother, and rises from there.
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

// mootMin is how many occurrences may have been cancelled before they are looked for.
const mootMin = 32

// noteCancelled is told that an occurrence which is on the calendar has been cancelled. Once that is half of them, they go.
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
