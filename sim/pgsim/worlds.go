package pgsim

import (
	"pulley/sim/cases"
	"pulley/sim/judge"
	"pulley/sim/world"
)

// Design is a simulated design: its state on the server and the comparison with the models.
type Design interface {
	Store
	world.Store
	judge.Tables
}

// Worlds plays worlds one after another. Each reuses the threads and memory of the one before.
type Worlds struct {
	Workload *cases.Workload
	spare    world.Spare
	memory   Memory
}

// Begin makes the world of a case before its first step.
func (p *Worlds) Begin(c cases.Case, newDesign func(*world.World, *Memory) Design, trace *world.Trace) *world.World {
	w := world.New(c, p.Workload, &p.spare, trace)
	p.memory.reset()
	d := newDesign(w, &p.memory)
	w.Attach(d, judge.New(w, d))
	return w
}

// Release ends what the last world has left.
func (p *Worlds) Release() { p.spare.Release() }
