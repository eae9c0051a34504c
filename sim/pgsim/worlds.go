package pgsim

import (
	"pulley/sim/cases"
	"pulley/sim/judge"
	"pulley/sim/world"
)

// Design is one, simulated: what is on the server, and how it is held against what it should be.
type Design interface {
	Store
	world.Store
	judge.Tables
}

// Worlds are played one after the other, those of one program and then perhaps of another. Each has the coroutines and the memory
// again that the one before it has left.
type Worlds struct {
	Workload *cases.Workload
	spare    world.Spare
	memory   Memory
}

// Begin makes the world of a case, in which nothing has happened yet.
func (p *Worlds) Begin(c cases.Case, newDesign func(*world.World, *Memory) Design, trace *world.Trace) *world.World {
	w := world.New(c, p.Workload, &p.spare, trace)
	p.memory.reset()
	d := newDesign(w, &p.memory)
	w.Attach(d, judge.New(w, d))
	return w
}

// Release ends what the last has left.
func (p *Worlds) Release() { p.spare.Release() }
