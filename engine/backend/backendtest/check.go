package backendtest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// Check compares the recording with the invariants that are visible from outside. Its error names each violation, with the number
// of the invariant first:
//
//	I1  a node run is not handed out again after an attempt of it succeeded, nor an attempt after it
//	    was completed; attempts count from one without a gap and receive the same arguments
//	I2  no completion is refused because a counter overflows
//	I3  of an attempt's completions at most one is applied, with the newest token
//	I5  what comes after nodes by hard edges is not handed out before each of them was completed
//	I7  every instance ends once, and stays as it ended
//	I11 every lease has a token of its own, and a later lease of a run a greater one
//	I12 nothing else is refused
//
// A recording without the steps that a check needs is an error, which names what is missing.
func (r *Recording) Check() error {
	c := &checking{rec: r, runs: map[backend.Key]*runHistory{}}
	c.collect()
	for _, key := range c.keys {
		c.run(key, c.runs[key])
	}
	c.ends()
	c.order()
	return errors.Join(c.found...)
}

type checking struct {
	rec   *Recording
	lost  bool
	runs  map[backend.Key]*runHistory
	keys  []backend.Key // of runs, in order of appearance
	found []error
}

type runHistory struct {
	leases  []Step
	answers []Step
}

func (c *checking) bad(invariant, format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("%s: "+format, append([]any{invariant}, args...)...))
}

func (c *checking) collect() {
	for _, s := range c.rec.Steps {
		switch s.Kind {
		case Leased, Answered:
			h := c.runs[s.Lease.Key]
			if h == nil {
				h = &runHistory{}
				c.runs[s.Lease.Key] = h
				c.keys = append(c.keys, s.Lease.Key)
			}
			if s.Kind == Leased {
				h.leases = append(h.leases, s)
			} else {
				h.answers = append(h.answers, s)
			}
		case Lost:
			c.lost = true
		}
		if s.Answer != backend.Refused {
			continue
		}
		if errors.Is(s.Err, backend.ErrOverflow) {
			c.bad("I2", "%s: %v", c.name(s.Lease.Key), s.Err)
		} else {
			c.bad("I12", "%s %s was refused: %v", s.Kind, c.name(s.Lease.Key), s.Err)
		}
	}
	if len(c.rec.Programs) == 0 {
		c.bad("inconclusive", "nothing was submitted")
	}
}

func (c *checking) name(key backend.Key) string {
	p := c.rec.Programs[key.Instance]
	if p == nil || int(key.Run.Node) >= len(p.Graph().Nodes) {
		return fmt.Sprintf("instance %s node %d [%s]", key.Instance, key.Run.Node, key.Run.Path)
	}
	return fmt.Sprintf("instance %s %s [%s]", key.Instance, p.Graph().Nodes[key.Run.Node].Name, key.Run.Path)
}

func (c *checking) run(key backend.Key, h *runHistory) {
	name := c.name(key)
	c.tokens(name, h)
	c.attempts(name, h)
	applied := map[int]Step{}
	for _, a := range h.answers {
		if a.Answer != backend.Applied {
			continue
		}
		if first, twice := applied[a.Attempt]; twice {
			c.bad("I3", "%s attempt %d was completed twice, by tokens %d and %d", name, a.Attempt, first.Lease.Token, a.Lease.Token)
		}
		applied[a.Attempt] = a
		for _, l := range h.leases {
			switch {
			case l.End < a.Begin && l.Lease.Token > a.Lease.Token:
				c.bad("I3", "%s was completed by token %d when token %d was out", name, a.Lease.Token, l.Lease.Token)
			case l.Begin > a.End && l.Attempt == a.Attempt:
				c.bad("I1", "%s attempt %d was handed out after it was completed", name, a.Attempt)
			case l.Begin > a.End && !a.Failed:
				c.bad("I1", "%s was handed out after it succeeded", name)
			}
		}
	}
	for _, l := range h.leases {
		if _, ok := applied[l.Attempt-1]; l.Attempt > 1 && !ok && !c.lost {
			c.bad("I1", "%s attempt %d was handed out, and attempt %d never completed", name, l.Attempt, l.Attempt-1)
		}
	}
}

func (c *checking) tokens(name string, h *runHistory) {
	byToken := slices.Clone(h.leases)
	slices.SortStableFunc(byToken, func(x, y Step) int { return cmp.Compare(x.Lease.Token, y.Lease.Token) })
	for i, l := range byToken {
		if i == 0 {
			continue
		}
		before := byToken[i-1]
		if l.Lease.Token == before.Lease.Token {
			c.bad("I11", "%s was leased twice with token %d", name, l.Lease.Token)
		}
		if l.End < before.Begin {
			c.bad("I11", "%s got token %d after token %d", name, before.Lease.Token, l.Lease.Token)
		}
	}
}

func (c *checking) attempts(name string, h *runHistory) {
	seen := map[int]bool{0: true}
	for _, l := range h.leases {
		seen[l.Attempt] = true
		if !bytes.Equal(l.Args, h.leases[0].Args) {
			c.bad("I1", "%s received %s and later %s", name, short(h.leases[0].Args), short(l.Args))
		}
	}
	for _, l := range h.leases {
		if l.Attempt < 1 || !seen[l.Attempt-1] && !c.lost {
			c.bad("I1", "%s attempt %d was handed out without attempt %d", name, l.Attempt, l.Attempt-1)
		}
	}
}

func (c *checking) ends() {
	told := map[uuid.UUID]backend.Instance{}
	for _, s := range c.rec.Steps {
		if s.Kind != Ended {
			continue
		}
		if _, twice := told[s.Instance]; twice {
			c.bad("I7", "instance %s ended twice", s.Instance)
		}
		told[s.Instance] = s.Outcome
	}
	for _, id := range sortedIDs(c.rec.Programs) {
		read, ok := c.rec.Instances[id]
		was, ended := told[id]
		switch {
		case !ok || read.Status == "" || read.Status == backend.Running:
			c.bad("I7", "instance %s has not ended", id)
		case !ended && !c.lost:
			c.bad("I7", "instance %s ended, and no call told of it", id)
		case ended && !same(was, read):
			c.bad("I7", "instance %s ended as %s and reads as %s", id, describe(was), describe(read))
		}
	}
}

// order checks what was handed out against the hard edges between actions at one depth.
func (c *checking) order() {
	if c.lost {
		return // a completion with a lost answer may have been the predecessor's
	}
	for _, key := range c.keys {
		p := c.rec.Programs[key.Instance]
		if p == nil || int(key.Run.Node) >= len(p.Graph().Nodes) {
			c.bad("I12", "%s is of no program that was submitted", c.name(key))
			continue
		}
		g := p.Graph()
		to := g.Nodes[key.Run.Node]
		for _, e := range g.In(to.ID) {
			from := g.Nodes[e.From]
			if e.Kind != graph.Forward || from.Kind != graph.Action || from.Depth != to.Depth {
				continue
			}
			if to.Exclusive {
				continue // one of several branches that meet here; the others were not taken
			}
			c.after(key, backend.Key{Instance: key.Instance, Run: graph.Run{Node: from.ID, Path: key.Run.Path}})
		}
	}
}

func (c *checking) after(key, pred backend.Key) {
	h := c.runs[key]
	if len(h.leases) == 0 {
		return
	}
	first := h.leases[0].End
	before := c.runs[pred]
	if before != nil && slices.ContainsFunc(before.answers, func(a Step) bool {
		return a.Answer == backend.Applied && a.Begin <= first
	}) {
		return
	}
	c.bad("I5", "%s was handed out before %s was completed", c.name(key), c.name(pred))
}

func same(x, y backend.Instance) bool {
	return x.Status == y.Status && bytes.Equal(x.Result, y.Result) && (x.Failure == nil) == (y.Failure == nil) &&
		(x.Failure == nil || *x.Failure == *y.Failure)
}

func describe(i backend.Instance) string {
	if i.Failure != nil {
		return fmt.Sprintf("%s with %s: %s", i.Status, i.Failure.Type, i.Failure.Message)
	}
	return fmt.Sprintf("%s with %s", i.Status, short(i.Result))
}

func short(v []byte) string {
	if len(v) <= 400 {
		return string(v)
	}
	return fmt.Sprintf("%s… (%d bytes)", v[:400], len(v))
}

func sortedIDs[V any](m map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m), func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
}
