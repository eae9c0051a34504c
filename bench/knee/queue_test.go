package knee_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pulley/bench/knee"
	"pulley/internal/depth"
	"pulley/scenarios"
)

type queue struct {
	name    string
	servers int
	service func(r *rand.Rand) float64 // in seconds, 1 on average
	// of sojourns longer than t
	beyond func(rate, t float64) float64
}

var queues = []queue{
	{"M/M/1", 1, (*rand.Rand).ExpFloat64, func(rate, t float64) float64 { return beyondMMc(1, rate, t) }},
	{"M/M/4", 4, (*rand.Rand).ExpFloat64, func(rate, t float64) float64 { return beyondMMc(4, rate, t) }},
	{"M/D/1", 1, func(*rand.Rand) float64 { return 1 }, beyondMD1},
}

// beyondMMc is P(T > t) for c servers of rate 1: a wait, with Erlang's C exponential with rate c − λ, and a service.
func beyondMMc(c int, rate, t float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= rate / float64(k+1)
	}
	full := term / (1 - rate/float64(c))
	waits := full / (sum + full)
	theta := float64(c) - rate
	both := (1 + t) * math.Exp(-t)
	if math.Abs(theta-1) > 1e-9 {
		both = (theta*math.Exp(-t) - math.Exp(-theta*t)) / (theta - 1)
	}
	return (1-waits)*math.Exp(-t) + waits*both
}

// beyondMD1 is P(T > t) of services of exactly 1, by Erlang's formula for the wait.
func beyondMD1(rate, t float64) float64 {
	wait := t - 1
	if wait < 0 {
		return 1
	}
	sum := 0.0
	for k := 0.0; k <= wait; k++ {
		factorial, _ := math.Lgamma(k + 1)
		sum += math.Pow(-1, k) * math.Exp(k*math.Log(max(rate*(wait-k), 1e-300))-factorial+rate*(wait-k))
	}
	return 1 - (1-rate)*sum
}

// truth is the rate at which the allowed share is beyond t.
func (q queue) truth(t, allowed float64) float64 {
	lo, hi := 1e-6, float64(q.servers)*(1-1e-9)
	for range 100 {
		mid := (lo + hi) / 2
		if q.beyond(mid, t) <= allowed {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

type world struct {
	queue
	r       *rand.Rand
	spread  float64 // of its speed, from run to run
	stalls  float64
	invalid float64
	many    int // arrivals in a run, a fifth of them warm-up
}

const windows = 10

func (w *world) run(rate float64, objective scenarios.Objective) knee.Run {
	out := knee.Run{Rate: rate, Invalid: w.r.Float64() < w.invalid, Windows: [][]knee.Window{make([]knee.Window, windows)}}
	speed := math.Exp(w.spread * w.r.NormFloat64())
	length := float64(w.many) / rate
	stall := math.Inf(1)
	if w.r.Float64() < w.stalls {
		stall = length * (0.3 + 0.5*w.r.Float64())
	}
	frees := make([]float64, w.servers)
	var now float64
	var early, late float64 // sojourns at the beginning and at the end, for the backlog
	for range w.many {
		now += w.r.ExpFloat64() / rate
		first := 0
		for i := range frees {
			if frees[i] < frees[first] {
				first = i
			}
		}
		begin := max(now, frees[first])
		if begin > stall {
			begin, stall = begin+30, math.Inf(1)
		}
		frees[first] = begin + w.service(w.r)/speed
		sojourn := frees[first] - now
		at := now / length
		if at < 0.2 || at >= 1 {
			early = max(early, sojourn)
			continue
		}
		late = sojourn
		in := &out.Windows[0][int((at-0.2)/0.8*windows)]
		in.Count++
		if sojourn > objective.Most.Seconds() {
			in.Above++
		}
	}
	out.Overloaded = (late-early)*rate > 0.05*float64(w.many)
	return out
}

func (w *world) find(cfg knee.Config) (a knee.Answer, runs int) {
	s := knee.NewSearch(cfg)
	for rate, more := s.Next(); more; rate, more = s.Next() {
		s.Add(w.run(rate, cfg.Objectives[0]))
		runs++
	}
	return s.Answer(), runs
}

func objective(t testing.TB, text string) scenarios.Objective {
	t.Helper()
	o, err := scenarios.ParseObjective(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Machines are randomly disturbed, guesses far off, and the knees exactly known.
func TestKneesOfKnownQueuesAreFound(t *testing.T) {
	tries := depth.Of(12, 400)
	for _, q := range queues {
		for _, text := range []string{"p99 < 9s", "p99 < 20s", "p95 < 8s"} {
			o := objective(t, text)
			truth := q.truth(o.Most.Seconds(), 1-o.Percentile/100)
			t.Run(q.name+" "+text, func(t *testing.T) {
				t.Parallel()
				var right, runs, widest int
				for try := range tries {
					r := rand.New(rand.NewPCG(uint64(try), 11))
					w := &world{queue: q, r: r, spread: 0.01, stalls: 0.08, invalid: 0.05, many: 20_000}
					a, n := w.find(knee.Config{Objectives: []scenarios.Objective{o}, Start: truth * math.Exp(1.5*(2*r.Float64()-1))})
					runs += n
					// A knee at load ρ varies as much as the machine's speed does, and as a run's estimate of its percentile
					// does.
					const slack = 0.03
					if a.Kind == knee.Found && a.Holds <= truth*(1+slack) && a.Breaks >= truth*(1-slack) && a.Tolerance < 0.25 {
						right++
					} else {
						t.Logf("try %d: %+v, truth %.4f", try, a, truth)
					}
					if a.Tolerance > 0.051 {
						widest++
					}
				}
				t.Logf("%d of %d knees at %.4f (%.0f %% of capacity) enclosed, %d of them wider than 5 %%; %.1f runs each", right, tries, truth,
					100*truth/float64(q.servers), widest, float64(runs)/float64(tries))
				if right < tries*9/10 {
					t.Errorf("%d of %d knees were enclosed", right, tries)
				}
				if runs > 30*tries {
					t.Errorf("it took %.1f runs each", float64(runs)/float64(tries))
				}
			})
		}
	}
}

func TestQueuesAreSimulatedAsTheyAreCalculated(t *testing.T) {
	for _, q := range queues {
		for _, load := range []float64{0.5, 0.8} {
			rate := load * float64(q.servers)
			w := &world{queue: q, r: rand.New(rand.NewPCG(1, 1)), many: depth.Of(200_000, 4_000_000)}
			o := objective(t, "p99 < 4s")
			share, lo, hi := knee.ShareAbove(w.run(rate, o).Windows[0])
			want := q.beyond(rate, 4)
			t.Logf("%s at %.0f %%: %.4f [%.4f, %.4f] are beyond, should be %.4f", q.name, 100*load, share, lo, hi, want)
			if math.Abs(share-want) > 2*(hi-lo) || math.Abs(share-want) > 0.1*want {
				t.Errorf("%s at %.0f %%: %.4f are beyond, not %.4f", q.name, 100*load, share, want)
			}
		}
	}
}

// The interval must contain the true share about as often as promised, in a queue with correlated latencies.
func TestSharesAreEnclosed(t *testing.T) {
	tries := depth.Of(100, 1000)
	q, right, narrow := queues[0], 0, 0
	want := q.beyond(0.7, 9)
	for try := range tries {
		w := &world{queue: q, r: rand.New(rand.NewPCG(uint64(try), 5)), many: 10_000}
		run := w.run(0.7, objective(t, "p95 < 9s"))
		var all knee.Window
		for _, v := range run.Windows[0] {
			all.Count, all.Above = all.Count+v.Count, all.Above+v.Above
		}
		if _, lo, hi := knee.ShareAbove(run.Windows[0]); lo <= want && want <= hi {
			right++
		}
		if _, lo, hi := knee.ShareAbove([]knee.Window{all}); lo <= want && want <= hi {
			narrow++
		}
	}
	t.Logf("%d of %d intervals hold the truth; %d of those that take latencies for independent", right, tries, narrow)
	if right < tries*85/100 {
		t.Errorf("%d of %d intervals hold the truth", right, tries)
	}
	if narrow >= right {
		t.Errorf("windows do not matter here: %d and %d", right, narrow)
	}
}

func ExampleSearch() {
	// A system that takes 1/(100 − rate) seconds.
	s := knee.NewSearch(knee.Config{Objectives: []scenarios.Objective{{Percentile: 99, Most: 1e8}}, Start: 60})
	for rate, more := s.Next(); more; rate, more = s.Next() {
		w := knee.Window{Count: 1000}
		if rate >= 100 || 1/(100-rate) > 0.1 {
			w.Above = 1000
		}
		s.Add(knee.Run{Rate: rate, Windows: [][]knee.Window{{w, w, w}}, Overloaded: rate >= 100})
	}
	a := s.Answer()
	fmt.Printf("%s: it holds at %.1f and breaks at %.1f\n", a.Kind, a.Holds, a.Breaks)
	// Output: found: it holds at 88.7 and breaks at 91.2
}
