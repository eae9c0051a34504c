package load_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"pulley/bench/load"
	"pulley/scenarios/arrivals"
)

// server takes requests at once, and answers each 5 ms after it was sent.
type server struct{ requests []load.Request }

func (s *server) Send(b load.Batch) {
	for i := b.First; i < b.First+b.Count; i++ {
		s.requests[i].Sent, s.requests[i].Stored, s.requests[i].Ended = b.Now, b.Now, b.Now+5*time.Millisecond
	}
}

func (s *server) InFlight() int { return 0 }

// virtual is a clock that is at the time for which somebody waits.
type virtual struct{ now time.Duration }

func (v *virtual) Now() time.Duration { return v.now }

func (v *virtual) Until(ctx context.Context, at time.Duration, _ <-chan struct{}) error {
	v.now = max(v.now, at)
	return ctx.Err()
}

// A run offers requests at the times that an arrival process intends, and is judged by their latencies from these times.
func ExampleDrive() {
	const end = 20 * time.Second
	times, err := load.NewSchedule(arrivals.Constant(100), end, 1)
	if err != nil {
		log.Fatal(err)
	}
	target := &server{requests: make([]load.Request, len(times))}
	for i, at := range times {
		target.requests[i].Intended = at
	}
	pace, err := load.Drive(context.Background(), load.NewPacer(times, 64), &virtual{}, target, nil)
	if err != nil {
		log.Fatal(err)
	}
	found := load.Analyze(load.Run{
		Requests: target.requests, Steady: true, WarmUp: 5 * time.Second, End: end, Drained: end + time.Second,
		Percentile: 99, Pace: pace, Cores: 1,
	})
	fmt.Println("valid:", found.Valid, found.Findings)
	// Output:
	// valid: true []
}
