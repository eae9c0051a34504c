package explore

import (
	"pulley/engine/ir/programs"
	"pulley/scenarios"
)

// Backends lists the designs that can be searched.
func Backends() []string { return []string{"push", "eager", "journal", "pull", "pull:scan=sql"} }

// Prepared is the program of cases, made ready: compiled, and run by the reference interpreter. One case at a time may be played.
type Prepared struct{ load *workload }

// Prepare makes the program of a case ready.
func Prepare(c Case) (*Prepared, error) {
	load, err := prepare(c)
	return &Prepared{load}, err
}

// Source is the program's text.
func (p *Prepared) Source() string { return p.load.Source }

// Play plays a case of the program.
func (p *Prepared) Play(c Case) *Result { return run(c, p.load, nil) }

// Drawing draws cases of a design by their seeds. Seeds that follow each other share a program, and what it takes to play it.
type Drawing struct {
	Backend string
	Mix     *scenarios.Mix // instead of random programs, its workloads in turn; nil: those
	drawn   drawn
}

// Case draws the case of a seed.
func (d *Drawing) Case(seed uint64) (Case, *Prepared, error) {
	load, err := d.workload(seed)
	if err != nil {
		return Case{}, nil, err
	}
	load.again = true
	return draw(seed, d.Backend, load), &Prepared{load}, nil
}

func (d *Drawing) workload(seed uint64) (*workload, error) {
	if d.Mix == nil {
		return d.drawn.workload(seed, d.Backend)
	}
	var err error
	if d.drawn.load == nil {
		w := d.Mix.Of(int(seed / SeedsPerProgram % uint64(len(d.Mix.Order))))
		d.drawn.load, err = prepare(Case{Program: programs.Program{Source: w.Source, Input: w.Input}, Scenario: w.Bundle})
	}
	return d.drawn.load, err
}

// Close lets go of what the last case has left.
func (d *Drawing) Close() {
	if d.drawn.load != nil {
		d.drawn.load.rest()
	}
}

// Replay plays a case again and gives its trace.
func Replay(c Case) (*Result, *Trace, error) {
	load, err := prepare(c)
	if err != nil {
		return nil, nil, err
	}
	t := &Trace{load: load, case_: c}
	return run(c, load, t), t, nil
}
