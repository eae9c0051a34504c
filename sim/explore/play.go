package explore

import (
	"pulley/engine/ir/programs"
	"pulley/scenarios"
)

// Backends lists the designs that can be searched.
func Backends() []string { return []string{"push", "eager", "journal", "pull", "pull:scan=sql"} }

// Prepared is the program of cases, made ready: compiled, and run by the reference interpreter. One case at a time may be played.
type Prepared struct {
	worlds worlds
	again  bool // there will be another case; what they leave is ended after the last
}

// Prepare makes the program of a case ready.
func Prepare(c Case) (*Prepared, error) {
	load, err := prepare(c)
	return &Prepared{worlds: worlds{load: load}}, err
}

// Source is the program's text.
func (p *Prepared) Source() string { return p.worlds.load.Source }

// Play plays a case of the program.
func (p *Prepared) Play(c Case) *Result { return p.run(c, nil) }

// run plays a case to its end.
func (p *Prepared) run(c Case, trace *Trace) *Result {
	w := p.worlds.begin(c, newDesign, trace)
	w.play()
	if !p.again {
		p.worlds.rest()
	}
	return &w.result
}

// newDesign makes the one of the case.
func newDesign(w *world, memory *statements) design {
	switch w.Backend {
	case "journal":
		return newJournalStore(w, memory)
	case "eager":
		return newEagerStore(w, memory)
	case "pull", "pull:scan=sql":
		return newPullStore(w, memory)
	default:
		return newPushStore(w, memory)
	}
}

// Drawing draws cases of a design by their seeds. Seeds that follow each other share a program, and what it takes to play it.
type Drawing struct {
	Backend string
	Mix     *scenarios.Mix // instead of random programs, its workloads in turn; nil: those
	drawn   drawn
	mixed   *workload // of the mix, that it is at
	at      *Prepared
}

// Case draws the case of a seed.
func (d *Drawing) Case(seed uint64) (Case, *Prepared, error) {
	load, err := d.workload(seed)
	if err != nil {
		return Case{}, nil, err
	}
	if d.at == nil || d.at.worlds.load != load {
		d.Close()
		d.at = &Prepared{worlds: worlds{load: load}, again: true}
	}
	return draw(seed, d.Backend, load), d.at, nil
}

func (d *Drawing) workload(seed uint64) (*workload, error) {
	if d.Mix == nil {
		return d.drawn.workload(seed, d.Backend)
	}
	var err error
	if d.mixed == nil {
		w := d.Mix.Of(int(seed / SeedsPerProgram % uint64(len(d.Mix.Order))))
		d.mixed, err = prepare(Case{Program: programs.Program{Source: w.Source, Input: w.Input}, Scenario: w.Bundle})
	}
	return d.mixed, err
}

// Close lets go of what the last case has left.
func (d *Drawing) Close() {
	if d.at != nil {
		d.at.worlds.rest()
	}
}

// Replay plays a case again and gives its trace.
func Replay(c Case) (*Result, *Trace, error) {
	p, err := Prepare(c)
	if err != nil {
		return nil, nil, err
	}
	t := newTrace(c, p.worlds.load)
	return p.run(c, t), t, nil
}
