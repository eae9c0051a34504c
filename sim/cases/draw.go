package cases

import (
	"errors"
	"math/rand/v2"
	"strings"

	"pulley/engine/ir/programs"
)

// SeedsPerProgram is how many consecutive seeds share a program, because preparing one costs more than a world.
const SeedsPerProgram = 16

// Programs draws programs by number and keeps the last one.
type Programs struct {
	number uint64
	load   *Workload
}

// Of returns a seed's program: a racing graph, or a generated program that the reference interpreter decides. Pull gets no races,
// because a scan decides there who is first.
func (d *Programs) Of(seed uint64, backend string) (*Workload, error) {
	number := seed / SeedsPerProgram
	if d.load != nil && d.number == number {
		return d.load, nil
	}
	if number%racingPrograms == racingPrograms-1 && !strings.HasPrefix(backend, "pull") {
		load, err := Prepare(racing(number))
		d.number, d.load = number, load
		return load, err
	}
	generator := programs.Generator(programs.Options{})
	var load *Workload
	for try := range 50 {
		w, err := interpreted(Case{Program: stretched(number, generator.Example(int(number*50+uint64(try))))})
		if errors.Is(err, errUndecided) {
			continue
		}
		if err != nil {
			return nil, err
		}
		second := load != nil
		if load == nil || load.nodes() < w.nodes() {
			load = w
		}
		if second || number%smallPrograms == 0 {
			d.number, d.load = number, load
			return load, load.compile()
		}
	}
	return nil, errUndecided
}

// racingPrograms says that one program in so many is a racing graph.
const racingPrograms = 8

// smallPrograms says that one program in so many is used as generated. Otherwise the larger of two is used; these have forty nodes
// in the median.
const smallPrograms = 4

func (w *Workload) nodes() int { return len(w.graph.Nodes) }

// stretched lengthens the waits of every other program, because designs treat long waits differently.
func stretched(number uint64, p programs.Program) programs.Program {
	if number%2 == 1 {
		p.Source = waits.Replace(p.Source)
	}
	return p
}

var waits = strings.NewReplacer("0.001", "0.1", "0.002", "0.4", "backoff: 1ms", "backoff: 150ms")

const arrivalsMax = 24

// faultsMean is the mean number of planned faults; some 80 of them hit.
const faultsMean = 115

// Draw draws the case of a seed.
func Draw(seed uint64, backend string, w *Workload) Case {
	r := rand.New(rand.NewPCG(seed, 0x6361736573))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	c := Case{
		Backend: backend, Seed: seed, Program: w.Program, Graph: w.definition, Scenario: w.scenario, Answers: w.recordedAnswers,
		Shards: pick(1, 1, 2), Engines: pick(1, 2, 2, 3, 4), Slots: pick(1, 2, 4), Prefetch: pick(0, 0, 1, 3),
		Batch: pick(1, 4, 128, 128), Committers: pick(1, 2, 4),
		LeaseUS: int64(pick(300_000, 1_000_000, 3_000_000)), PollUS: int64(pick(100_000, 500_000, 1_000_000)),
		SweepUS: int64(pick(200_000, 1_000_000)), LatencyUS: int64(pick(100, 500, 3_000)),
		ServiceUS: int64(pick(100, 2_000, 50_000)), Grain: pick(0, 2, 4, 8, 32),
	}
	if backend == "journal" {
		c.EvictAfterUS = int64(pick(10_000, 10_000, 50_000, 5_000_000))
		c.Shards = pick(1, 2, 2, 3, 4)
		c.LeaseUS, c.SweepUS = int64(pick(120_000, 250_000, 600_000)), int64(pick(60_000, 200_000)) // its engines call more often
	}
	at, together, apart := int64(0), pick(1, 2, 2, 3), int64(100_000)
	if r.IntN(4) == 0 { // a crowd: batches have several instances and conflict with other batches
		together, apart, c.Slots, c.Batch, c.Grain, c.ServiceUS = 5, 500, 8, 128, pick(2, 4, 8), 500
		c.Engines, c.Shards = pick(2, 3, 4), 1
	}
	for range together {
		a := Arrival{AtUS: at, Engine: r.IntN(c.Engines)}
		if r.IntN(12) == 0 {
			a.CancelUS = 1 + r.Int64N(200_000)
		}
		c.Arrivals = append(c.Arrivals, a)
		at += r.Int64N(apart)
	}
	for range arrivalsMax - len(c.Arrivals) {
		c.Arrivals = append(c.Arrivals, Arrival{AtUS: -1, Engine: r.IntN(c.Engines)})
	}
	after := 10 + r.IntN(20)
	gap := pick(3, 4, 6, 8)
	kinds := mix(r)
	faults := faultsMean/2 + r.IntN(faultsMean)
	c.Faults = make([]Fault, 0, faults)
	for range faults {
		f := Fault{Kind: kinds[r.IntN(len(kinds))], After: after, Target: r.IntN(8)}
		f.draw(r, &c)
		c.Faults = append(c.Faults, f)
		after += 1 + r.IntN(2*gap)
	}
	c.Fair = r.IntN(3) == 0 && (backend == "push" || backend == "journal")
	return c
}

func mix(r *rand.Rand) []Kind {
	all := Kinds()
	switch r.IntN(4) {
	case 0:
		return all
	case 1:
		return []Kind{all[r.IntN(len(all))], Cut, Lost}
	}
	var some []Kind
	for range 2 + r.IntN(4) {
		some = append(some, all[r.IntN(len(all))])
	}
	return some
}
