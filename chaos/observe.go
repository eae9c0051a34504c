package chaos

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/chaos/fault"
	"pulley/engine/oracle"
	"pulley/internal/pause"
	"pulley/reports/record"
)

const (
	observeEvery = 500 * time.Millisecond
	// observeWindows bounds the windows of the record.
	observeWindows = 600
	// observeWaits bounds the waits that the record names.
	observeWaits = 6
)

// observation is one sample of a run. waits is nil if the server did not answer.
type observation struct {
	at    int64 // on oracle.MachineClock
	open  int
	waits map[string]int64
}

// observer samples open instances and what the engines' sessions wait for.
type observer struct {
	*run
	seen []observation
	conn *pgx.Conn // nil: none, or the last sample failed on it
}

func (o *observer) sampleLoop(ctx context.Context) {
	defer o.disconnect()
	for range pause.Ticks(ctx, observeEvery) {
		_, open := o.load.count()
		seen := observation{at: oracle.MachineClock(), open: open}
		step, cancel := context.WithTimeout(ctx, min(o.Call(), observeEvery))
		look, err := o.look(step)
		cancel()
		if err == nil {
			seen.waits = look.Sessions
		} else { // the server is down, or far away
			o.disconnect()
		}
		o.seen = append(o.seen, seen)
	}
}

func (o *observer) look(ctx context.Context) (look measure.Look, err error) {
	if o.conn == nil {
		if o.conn, err = o.world.Admin(ctx); err != nil {
			return look, err
		}
	}
	return measure.LookAt(ctx, o.conn, fault.Application)
}

func (o *observer) disconnect() {
	if o.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), observeEvery)
	defer cancel()
	_ = o.conn.Close(ctx)
	o.conn = nil
}

// samplesOf returns means by window from begin on; nil if nothing was seen since.
func samplesOf(seen []observation, begin int64) *record.TimelineSamples {
	first, _ := slices.BinarySearchFunc(seen, begin, func(o observation, at int64) int { return cmp.Compare(o.at, at) })
	if seen = seen[first:]; len(seen) == 0 {
		return nil
	}
	window := max(int64(2*observeEvery), (seen[len(seen)-1].at-begin)/observeWindows+1)
	windows := int((seen[len(seen)-1].at-begin)/window) + 1
	out := &record.TimelineSamples{WindowMS: float64(window) / 1e6, Open: make([]*float64, windows)}
	total, names := map[string]int64{}, map[string]string{}
	for _, o := range seen {
		for name, n := range o.waits {
			total[name] += n
		}
	}
	ordered := slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) })
	for i, name := range ordered {
		if names[name] = name; i >= observeWaits {
			names[name] = record.WaitOther
		}
	}
	for _, name := range ordered[:min(len(ordered), observeWaits+1)] {
		out.Waits = append(out.Waits, record.WaitSeries{Name: names[name], Sessions: make([]*float64, windows)})
	}
	open, answered := make([]int, windows), make([]int, windows)
	for _, o := range seen {
		w := (o.at - begin) / window
		open[w]++
		addTo(out.Open, w, float64(o.open))
		if o.waits == nil {
			continue
		}
		answered[w]++
		for i := range out.Waits {
			sum := 0.0
			for name, n := range o.waits {
				if names[name] == out.Waits[i].Name {
					sum += float64(n)
				}
			}
			addTo(out.Waits[i].Sessions, w, sum)
		}
	}
	divide(out.Open, open)
	for _, s := range out.Waits {
		divide(s.Sessions, answered)
	}
	return out
}

func addTo(sums []*float64, i int64, v float64) {
	if sums[i] == nil {
		sums[i] = new(float64)
	}
	*sums[i] += v
}

func divide(sums []*float64, counts []int) {
	for i, sum := range sums {
		if sum != nil {
			*sum /= float64(counts[i])
		}
	}
}
