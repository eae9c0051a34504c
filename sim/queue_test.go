package sim_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// queue is a textbook queue: Poisson arrivals, one queue, some servers. Times are in units of the mean service time.
type queue struct {
	servers int
	load    float64 // of a server, from 0 to 1
	fixed   bool    // every service takes the same time; otherwise it is exponential
}

func (q queue) String() string {
	return fmt.Sprintf("M/%s/%d at %v", map[bool]string{false: "M", true: "D"}[q.fixed], q.servers, q.load)
}

var queues = []queue{{1, 0.5, false}, {1, 0.8, false}, {3, 0.6, false}, {8, 0.9, false}, {1, 0.6, true}}

const unit = 10 * time.Millisecond

// waits returns the probability of a wait. With a = load·c the offered load, Erlang's C formula:
//
//	C = (a^c/c!) / ((a^c/c!) + (1 - load) · Σ_{k<c} a^k/k!)
func (q queue) waits() float64 {
	a, term, sum := q.load*float64(q.servers), 1.0, 0.0
	for k := range q.servers {
		sum += term
		term *= a / float64(k+1)
	}
	return term / (term + (1-q.load)*sum)
}

// wait returns the mean time in the queue: C / (c·(1 - load)) for M/M/c; half of that, load / (2·(1 - load)), for M/D/1
// (Pollaczek and Khinchine).
func (q queue) wait() float64 {
	wait := q.waits() / (float64(q.servers) * (1 - q.load))
	if q.fixed {
		return wait / 2
	}
	return wait
}

// quantile returns the time that a part p of the customers of M/M/c does not exceed: P(wait > t) = C · e^(-c·(1 - load)·t).
func (q queue) quantile(p float64) float64 {
	return math.Log(q.waits()/(1-p)) / (float64(q.servers) * (1 - q.load))
}

func (q queue) between() time.Duration {
	return time.Duration(float64(unit) / (q.load * float64(q.servers)))
}

func (q queue) service() sim.Distribution {
	if q.fixed {
		return dist.Constant(unit)
	}
	return dist.Exponential(unit)
}

// world returns the queue as a world: instances of one job that arrive from outside.
func (q queue) world(seed uint64, customers int) sim.Config {
	return sim.Config{
		Seed: seed, Jobs: []sim.Job{{}}, Instances: customers, Between: dist.Exponential(q.between()), Workers: q.servers,
		Service: sim.Keyed(seed, func(string) sim.Distribution { return q.service() }), Quiet: true,
	}
}

// An interval is made of replications independent runs. t995 is the 99.5 % quantile of Student's t with one degree of freedom
// less, so that mean ± t995 · s/√n covers the true mean in 99 % of all cases.
const (
	replications = 40
	t995         = 2.7079
)

type interval struct{ mean, half float64 }

func over(values []float64) interval {
	n, sum, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	return interval{sum / n, t995 * math.Sqrt(squares/(n-1)/n)}
}

func (i interval) holds(v float64) bool { return math.Abs(v-i.mean) <= i.half }

// sample is the result of a replication without its first tenth, in which the queue fills.
type sample struct{ wait, waited, above, busy float64 }

func (q queue) sample(waits []float64, busy float64) sample {
	s := sample{busy: busy}
	rest := waits[len(waits)/10:]
	n, far := float64(len(rest)), q.quantile(0.9)
	for _, w := range rest {
		s.wait += w / n
		if w > 0 {
			s.waited += 1 / n
		}
		if w > far {
			s.above += 1 / n
		}
	}
	return s
}

// hold checks that theory lies within the intervals of the replications.
func (q queue) hold(t *testing.T, samples []sample) (wait interval) {
	t.Helper()
	column := func(of func(sample) float64) interval {
		var values []float64
		for _, s := range samples {
			values = append(values, of(s))
		}
		return over(values)
	}
	wait = column(func(s sample) float64 { return s.wait })
	for _, c := range []struct {
		what   string
		got    interval
		theory float64
	}{
		{"mean wait", wait, q.wait()},
		{"part that waits", column(func(s sample) float64 { return s.waited }), q.waits()},
		{"part above the 90 % quantile", column(func(s sample) float64 { return s.above }), 0.1},
		{"utilisation", column(func(s sample) float64 { return s.busy }), q.load},
	} {
		if q.fixed && c.theory == 0.1 {
			continue // the quantile is that of M/M/c
		}
		t.Logf("%s: %s %.4f ± %.4f, theory %.4f", q, c.what, c.got.mean, c.got.half, c.theory)
		if !c.got.holds(c.theory) {
			t.Errorf("%s: the %s is %.4f ± %.4f (99 %%); theory says %.4f", q, c.what, c.got.mean, c.got.half, c.theory)
		}
	}
	return wait
}

// customers returns how many arrive in a replication: few before each change, more at night, or PULLEY_SIM_CUSTOMERS.
func customers(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("PULLEY_SIM_CUSTOMERS"), depth.Of("150", "5000")))
	if err != nil || n < 100 {
		t.Fatalf("PULLEY_SIM_CUSTOMERS must be a number from 100 on: %v", err)
	}
	return n
}

// TestQueues compares queues in worlds with the real machine with theory. Together, TestQueueIsFirstComeFirstServed and
// TestRecursion show that the machine keeps the queue in every case, and theory to within one percent.
func TestQueues(t *testing.T) {
	n := customers(t)
	for k, q := range queues {
		if n < 5_000 && q.load > 0.6 {
			continue // it takes longer to reach its steady part than this run lasts
		}
		var samples []sample
		for seed := range uint64(replications) {
			r, err := sim.Run(q.world(uint64(k+1)<<32+seed, n))
			if err != nil {
				t.Fatal(err)
			}
			right(t, r) // right checks Little's law, too
			samples = append(samples, q.sample(waitsOf(r), r.Utilisation))
			if spent := r.Latency.Mean.Seconds() * float64(n); math.Abs(r.InSystem*r.Makespan.Seconds()-spent) > 1e-6*spent {
				t.Errorf("%s: %v in the system, on an average, for %v; together they spent %v s", q, r.InSystem, r.Makespan, spent)
			}
		}
		q.hold(t, samples)
	}
}

func waitsOf(r *sim.Result) []float64 {
	waits := make([]float64, len(r.Instances))
	for _, a := range r.Schedule {
		waits[a.Instance] = float64(a.Start-r.Instances[a.Instance].Arrived) / float64(unit)
	}
	return waits
}

// starts computes starts by the recursion of Kiefer and Wolfowitz (Lindley's with one server): a customer starts at its arrival
// or when the first server is free, whichever is later.
func starts[T cmp.Ordered](arrivals, services []T, servers int, end func(T, T) T) []T {
	free := make([]T, servers)
	out := make([]T, len(arrivals))
	for i, at := range arrivals {
		k := 0
		for j := range free {
			if free[j] < free[k] {
				k = j
			}
		}
		out[i] = max(at, free[k])
		free[k] = end(out[i], services[i])
	}
	return out
}

// TestQueueIsFirstComeFirstServed compares worlds with the recursion, customer by customer, to the nanosecond: with counted jobs,
// and with the core and the in-memory store.
func TestQueueIsFirstComeFirstServed(t *testing.T) {
	trace, err := wfformat.Generate(wfformat.Pipelines, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := workload(t, "trace", 0, scenarios.Options{Trace: trace})
	for _, servers := range []int{1, 2, 5} {
		for seed, law := range []string{"exp:10ms", "const:10ms", "lognormal:5ms,1.2", "pareto:1ms..1s,1.1", "uniform:0s..20ms"} {
			l, err := dist.Parse(law, dist.Durations, nil)
			if err != nil {
				t.Fatal(err)
			}
			q := queue{servers: servers, load: 0.9}
			cfg := q.world(uint64(seed), depth.Of(300, 2_000))
			cfg.Between = dist.Exponential(time.Duration(l.Mean() / q.load / float64(servers)))
			cfg.Service = sim.Keyed(1, func(string) sim.Distribution { return l.Times() })
			counted, err := sim.Run(cfg)
			if err != nil {
				t.Fatal(err)
			}
			firstCome(t, counted, servers)
			cfg.Jobs, cfg.Workload, cfg.Act, cfg.Instances = nil, one, act(t), depth.Of(100, 600)
			planned, err := sim.Run(cfg)
			if err != nil {
				t.Fatal(err)
			}
			firstCome(t, planned, servers)
		}
	}
}

func firstCome(t *testing.T, r *sim.Result, servers int) {
	t.Helper()
	right(t, r)
	n := len(r.Instances)
	arrivals, services, got := make([]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n)
	for _, a := range r.Schedule {
		arrivals[a.Instance], services[a.Instance], got[a.Instance] = r.Instances[a.Instance].Arrived, a.End-a.Start, a.Start
	}
	want := starts(arrivals, services, servers, func(a, b time.Duration) time.Duration { return a + b })
	waited := 0
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%d servers: customer %d starts at %v, and the recursion says %v", servers, i, got[i], want[i])
		}
		if want[i] > arrivals[i] {
			waited++
		}
	}
	if waited < n/10 {
		t.Errorf("%d servers: only %d of %d customers had to wait", servers, waited, n)
	}
}

// TestRecursion compares the recursion with theory, with millions of customers. Wrong formulas and errors of a few percent, three
// at night, must lie outside the intervals.
func TestRecursion(t *testing.T) {
	n, off := depth.Of(15_000, 100_000), depth.Of(1.08, 1.03)
	for _, q := range queues {
		var samples []sample
		for seed := range uint64(replications) {
			r := rand.New(rand.NewPCG(seed, uint64(q.servers)))
			arrivals, services, at, busy := make([]float64, n), make([]float64, n), 0.0, 0.0
			for i := range n {
				at += r.ExpFloat64() / (q.load * float64(q.servers))
				arrivals[i], services[i] = at, 1
				if !q.fixed {
					services[i] = r.ExpFloat64()
				}
				busy += services[i]
			}
			waits := starts(arrivals, services, q.servers, func(a, b float64) float64 { return a + b })
			for i := range waits {
				waits[i] -= arrivals[i]
			}
			samples = append(samples, q.sample(waits, busy/float64(q.servers)/at))
		}
		wait := q.hold(t, samples)
		wrong := []float64{q.wait() * off, q.wait() / off, q.wait() / 2, q.wait() * 2}
		if q.load > 0.85 || q.load > 0.7 && q.servers == 1 {
			wrong = wrong[2:] // such a full queue varies too much to detect a few percent
		}
		if i := slices.IndexFunc(wrong, wait.holds); i >= 0 {
			t.Errorf("%s: the interval %.4f ± %.4f would take %.4f too", q, wait.mean, wait.half, wrong[i])
		}
	}
}
