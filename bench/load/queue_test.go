package load_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"pulley/bench/load"
	"pulley/internal/depth"
	"pulley/reports/record"
	"pulley/scenarios/arrivals"
)

// queue is a system with one server that handles requests in order, in virtual time. It is also its run's clock.
type queue struct {
	now      time.Duration
	service  func(i int) time.Duration
	stall    [2]time.Duration // nothing is served within it
	free     time.Duration
	requests []load.Request
	open     []time.Duration
}

func (q *queue) Now() time.Duration { return q.now }

func (q *queue) Until(_ context.Context, at time.Duration, _ <-chan struct{}) error {
	q.now = max(q.now, at)
	return nil
}

func (q *queue) InFlight() int {
	for len(q.open) > 0 && q.open[0] <= q.now {
		q.open = q.open[1:]
	}
	return len(q.open)
}

func (q *queue) Send(b load.Batch) {
	for i := b.First; i < b.First+b.Count; i++ {
		begin := max(q.now, q.free)
		if begin >= q.stall[0] && begin < q.stall[1] {
			begin = q.stall[1]
		}
		q.free = begin + q.service(i)
		q.requests[i].Sent, q.requests[i].Ended = q.now, q.free
		q.open = append(q.open, q.free)
	}
}

func serve(t *testing.T, text string, end time.Duration, seed uint64, inFlight int, q *queue) {
	t.Helper()
	times := scheduleOf(t, text, end, seed)
	q.requests = make([]load.Request, len(times))
	for i, at := range times {
		q.requests[i].Intended = at
	}
	if _, err := load.Drive(t.Context(), load.NewPacer(times, inFlight), q, q, nil); err != nil {
		t.Fatal(err)
	}
}

func scheduleOf(t *testing.T, text string, end time.Duration, seed uint64) []time.Duration {
	t.Helper()
	a, err := arrivals.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	times, err := load.NewSchedule(a, end, seed)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func analyze(q *queue, end time.Duration, percentile float64) *record.Load {
	return load.Analyze(load.Run{Requests: q.requests, Steady: true, WarmUp: end / 10, Auto: true, End: end, Drained: end + time.Second, Percentile: percentile})
}

// The report must agree with all latencies of an M/M/1 queue, which Lindley's recursion computes from the intended times,
// without the generator.
func TestPercentilesAreExact(t *testing.T) {
	const end = 60 * time.Second
	for seed := range uint64(depth.Of(5, 200)) {
		r := rand.New(rand.NewPCG(seed, 1))
		services := make([]time.Duration, 200_000)
		for i := range services {
			services[i] = time.Duration(r.ExpFloat64() * float64(500*time.Microsecond))
		}
		q := &queue{service: func(i int) time.Duration { return services[i] }}
		serve(t, "poisson:1400/s", end, seed, 100_000, q)
		got := analyze(q, end, 99.9)
		from := time.Duration(got.Phases.WarmUpNS)
		var want []float64
		var free time.Duration
		for i := range q.requests {
			at := q.requests[i].Intended
			free = max(free, at) + services[i]
			if at >= from {
				want = append(want, float64(free-at))
			}
		}
		slices.Sort(want)
		for p, ns := range map[float64]*int64{.5: got.LatencyNS.P50, .9: got.LatencyNS.P90, .99: got.LatencyNS.P99, .999: got.LatencyNS.P999, 1: got.LatencyNS.Max} {
			exact := want[int(math.Ceil(p*float64(len(want))))-1]
			// The generator checks for due requests at least every 50 µs, which shows in its lag.
			if off := math.Abs(float64(*ns)-exact) / exact; off > 0.01 && math.Abs(float64(*ns)-exact) > float64(load.Grain) || off > 0.05 {
				t.Errorf("seed %d: the %v-quantile is %v, exactly %v", seed, p, time.Duration(*ns), time.Duration(exact))
			}
		}
		if !got.Valid && got.Findings[0].Kind != load.KindDrift { // 1 of 100 runs shows a trend by chance
			t.Errorf("seed %d: %+v", seed, got.Findings)
		}
	}
}
