package explore

import (
	"pulley/engine/ir/programs"
	"pulley/scenarios"
	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/pgsim/eager"
	"pulley/sim/pgsim/journal"
	"pulley/sim/pgsim/pull"
	"pulley/sim/pgsim/push"
	"pulley/sim/world"
)

// Backends lists the designs that can be searched.
func Backends() []string { return []string{"push", "eager", "journal", "pull", "pull:scan=sql"} }

// Prepared is a compiled program with its reference outcomes. It plays one case at a time. A Drawing's Prepared has each of its
// programs in turn.
type Prepared struct {
	worlds pgsim.Worlds
	again  bool // there will be another case; resources are released after the last
}

// Prepare prepares a case's program.
func Prepare(c cases.Case) (*Prepared, error) {
	load, err := cases.Prepare(c)
	return &Prepared{worlds: pgsim.Worlds{Workload: load}}, err
}

// Source returns the program's text.
func (p *Prepared) Source() string { return p.worlds.Workload.Source }

// Play plays a case of the program.
func (p *Prepared) Play(c cases.Case) *world.Result { return p.run(c, nil) }

func (p *Prepared) run(c cases.Case, trace *world.Trace) *world.Result {
	w := p.worlds.Begin(c, newDesign, trace)
	w.Play()
	if !p.again {
		p.worlds.Release()
	}
	return &w.Result
}

func newDesign(w *world.World, memory *pgsim.Memory) pgsim.Design {
	switch w.Backend {
	case "journal":
		return journal.New(w, memory)
	case "eager":
		return eager.New(w, memory)
	case "pull", "pull:scan=sql":
		return pull.New(w, memory)
	default:
		return push.New(w, memory)
	}
}

// Drawing draws a design's cases by seed. Consecutive seeds share a program; all share memory and threads.
type Drawing struct {
	Backend string
	Mix     *scenarios.Mix // its workloads in turn; nil: random programs
	drawn   cases.Programs
	mixed   *cases.Workload
	number  uint64
	at      Prepared
}

// Case draws the case of a seed.
func (d *Drawing) Case(seed uint64) (cases.Case, *Prepared, error) {
	load, err := d.workload(seed)
	if err != nil {
		return cases.Case{}, nil, err
	}
	d.at.worlds.Workload, d.at.again = load, true
	return cases.Draw(seed, d.Backend, load), &d.at, nil
}

func (d *Drawing) workload(seed uint64) (*cases.Workload, error) {
	if d.Mix == nil {
		return d.drawn.Of(seed, d.Backend)
	}
	number := seed / cases.SeedsPerProgram
	if d.mixed != nil && d.number == number {
		return d.mixed, nil
	}
	w := d.Mix.Of(int(number % uint64(len(d.Mix.Order))))
	var err error
	d.mixed, err = cases.Prepare(cases.Case{Program: programs.Program{Source: w.Source, Input: w.Input}, Scenario: w.Bundle, Answers: w.Answers})
	d.number = number
	return d.mixed, err
}

// Close releases the last case's resources.
func (d *Drawing) Close() { d.at.worlds.Release() }

// Replay plays a case and returns its trace.
func Replay(c cases.Case) (*world.Result, *world.Trace, error) {
	p, err := Prepare(c)
	if err != nil {
		return nil, nil, err
	}
	t := world.NewTrace(c, p.worlds.Workload)
	return p.run(c, t), t, nil
}
