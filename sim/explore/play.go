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

// Prepared is the program of cases, made ready: compiled, and run by the reference interpreter. One case at a time may be played.
// That of a Drawing is each of its programs in turn.
type Prepared struct {
	worlds pgsim.Worlds
	again  bool // there will be another case; what they leave is ended after the last
}

// Prepare makes the program of a case ready.
func Prepare(c cases.Case) (*Prepared, error) {
	load, err := cases.Prepare(c)
	return &Prepared{worlds: pgsim.Worlds{Workload: load}}, err
}

// Source is the program's text.
func (p *Prepared) Source() string { return p.worlds.Workload.Source }

// Play plays a case of the program.
func (p *Prepared) Play(c cases.Case) *world.Result { return p.run(c, nil) }

// run plays a case to its end.
func (p *Prepared) run(c cases.Case, trace *world.Trace) *world.Result {
	w := p.worlds.Begin(c, newDesign, trace)
	w.Play()
	if !p.again {
		p.worlds.Release()
	}
	return &w.Result
}

// newDesign makes the one of the case.
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

// Drawing draws cases of a design by their seeds. Seeds that follow each other share a program; all of them share the memory and the
// coroutines that it takes to play one.
type Drawing struct {
	Backend string
	Mix     *scenarios.Mix // instead of random programs, its workloads in turn; nil: those
	drawn   cases.Programs
	mixed   *cases.Workload // of the mix, that it is at
	number  uint64          // of the program that this is
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

// Close lets go of what the last case has left.
func (d *Drawing) Close() { d.at.worlds.Release() }

// Replay plays a case again and gives its trace.
func Replay(c cases.Case) (*world.Result, *world.Trace, error) {
	p, err := Prepare(c)
	if err != nil {
		return nil, nil, err
	}
	t := world.NewTrace(c, p.worlds.Workload)
	return p.run(c, t), t, nil
}
