package load_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pulley/bench/load"
	"pulley/internal/depth"
	"pulley/reports/record"
)

// meanOf returns half of the 99 % interval, too. With 20 values or more the t-quantile is 2.861 at most.
func meanOf(values []float64) (mean, half float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	variance := 0.0
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, 2.861 * math.Sqrt(variance/float64(len(values)))
}

// queueing's mean service time is 5 ms.
type queueing struct {
	name   string
	square float64 // E[S²] / E[S]²
	draw   func(r *rand.Rand) time.Duration
}

const serviceMean = 5 * time.Millisecond

var queueings = []queueing{
	{"M/M/1", 2, func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(serviceMean)) }},
	{"M/D/1", 1, func(*rand.Rand) time.Duration { return serviceMean }},
}

// wait is the mean time that a request waits, by Pollaczek and Khinchine: λ·E[S²] / (2(1 − ρ)).
func (q queueing) wait(rho float64) time.Duration {
	return time.Duration(rho * q.square * float64(serviceMean) / (2 * (1 - rho)))
}

func (q queueing) replicate(t *testing.T, rho float64, runs int) []*record.Load {
	t.Helper()
	const warmUp, end = 30 * time.Second, 330 * time.Second
	var out []*record.Load
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 2))
		one := &queue{service: func(int) time.Duration { return q.draw(r) }}
		rate := rho / serviceMean.Seconds()
		serve(t, "poisson:"+number(rate)+"/s", end, seed, 1_000_000, one)
		out = append(out, load.Analyze(load.Run{
			Requests: one.requests, Steady: true, WarmUp: warmUp, End: end, Drained: end + time.Minute, Percentile: 99,
		}))
	}
	return out
}

func waits(runs []*record.Load) []float64 {
	var out []float64
	for _, l := range runs {
		out = append(out, float64(*l.LatencyNS.MeanNS)-float64(serviceMean))
	}
	return out
}

func TestWaitsAreTheory(t *testing.T) {
	for _, q := range queueings {
		for _, rho := range []float64{0.3, 0.7, 0.85} {
			mean, half := meanOf(waits(q.replicate(t, rho, depth.Of(20, 200))))
			want := float64(q.wait(rho))
			if math.Abs(mean-want) > half+float64(load.Grain) {
				t.Errorf("%s at %v: requests wait %v ± %v, in theory %v", q.name, rho, time.Duration(mean), time.Duration(half), time.Duration(want))
			}
		}
	}
}

// The 99th percentile's interval must contain the true one about as often as promised, although neighbours in a queue are
// correlated. In M/M/1 the time in the system is exponential with rate μ − λ.
func TestIntervalsCover(t *testing.T) {
	const rho = 0.7
	truth := math.Log(100) * float64(serviceMean) / (1 - rho)
	runs := queueings[0].replicate(t, rho, depth.Of(40, 400))
	held := 0
	for _, l := range runs {
		if l.Asked.LoNS != nil && l.Asked.HiNS != nil && float64(*l.Asked.LoNS) <= truth && truth <= float64(*l.Asked.HiNS) {
			held++
		}
	}
	t.Logf("%d of %d intervals hold the true p99", held, len(runs))
	if share := float64(held) / float64(len(runs)); share < 0.85 {
		t.Errorf("%d of %d intervals at 95 %% hold the true p99", held, len(runs))
	}
}

// stalled handles one request at a time, as a client that waits for each answer would, and stalls for a second.
type stalled struct{ queue }

func (q *stalled) Send(b load.Batch) {
	for i := range b.Count {
		q.queue.Send(load.Batch{First: b.First + i, Count: 1})
		q.now = q.free
	}
}

// stall is a run of 30 s at 200 requests a second, each of which takes 1 ms, with a second in which nothing is served.
func stall(t *testing.T) (*stalled, *record.Load) {
	t.Helper()
	const end = 30 * time.Second
	q := &stalled{queue{service: func(int) time.Duration { return time.Millisecond }, stall: [2]time.Duration{15 * time.Second, 16 * time.Second}}}
	times := scheduleOf(t, "constant:200/s", end, 1)
	q.requests = make([]load.Request, len(times))
	for i, at := range times {
		q.requests[i].Intended = at
	}
	if _, err := load.Drive(t.Context(), load.NewPacer(times, 100_000), q, q, nil); err != nil {
		t.Fatal(err)
	}
	return q, load.Analyze(load.Run{Requests: q.requests, Steady: true, End: end, Drained: end + time.Second, Percentile: 99})
}

// A system that handles one request at a time stalls. Times from sending show one slow request. Times from the intended time
// show all that had to wait.
func TestStallShows(t *testing.T) {
	_, got := stall(t)
	// A request that comes x after the stall began ends when the k = 200·x before it have been served: after 1 s − x + k·1 ms.
	// Of 6,000 requests the 60 slowest, one in a hundred, are those with x up to 0.3 s, and the 6 slowest those up to 0.03 s.
	for name, c := range map[string]struct {
		got  *int64
		want time.Duration
	}{
		"p99 latency":   {got.LatencyNS.P99, 760 * time.Millisecond},
		"p99.9 latency": {got.LatencyNS.P999, 976 * time.Millisecond},
		"max latency":   {got.LatencyNS.Max, 1001 * time.Millisecond},
		"p99 service":   {got.ServiceNS.P99, time.Millisecond},
		"p99.9 service": {got.ServiceNS.P999, time.Millisecond},
		"max service":   {got.ServiceNS.Max, 1001 * time.Millisecond},
	} {
		if c.got == nil || math.Abs(float64(*c.got)-float64(c.want)) > 0.01*float64(c.want) {
			t.Errorf("%s is %v, not %v", name, c.got, c.want)
		}
	}
	// All requests of the stall, and of the 200 ms · 1/(1 − 0.2) in which the backlog is served.
	if n := got.Whole.Late; n < 240 || n > 252 || got.Whole.Dropped > 0 || got.Whole.Ended != 6000 {
		t.Errorf("%+v", got.Whole)
	}
}
