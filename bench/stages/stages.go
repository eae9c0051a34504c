// Package stages records the durations of a node run's stages: the parts of the time between an instance's submission and its
// end.
//
// A node run is ready when the commit before it is known: that of the latest completion in its instance, or of the submission.
// It is leased when it arrives at an engine, started when a worker takes it, finished when its action has returned, and
// committed when the store has answered. A node run becomes ready at the earliest with its cause's commit; if another branch of
// the instance commits between that and the lease, the later commit counts.
//
// The recorder reads no clocks. Times are nanoseconds since the beginning of the run, never zero.
package stages

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pulley/engine/graph"
)

// Stage is one stage of a node run.
type Stage int

// The stages, in order.
const (
	Leased Stage = iota
	Started
	Finished
	Committed
	count
)

// Names and descriptions, by stage.
var (
	names = [count]string{"leased", "started", "finished", "committed"}
	texts = [count]string{
		"from the latest commit in the instance, after which it could be ready, to the lease",
		"from the lease to the start: the wait for a free worker",
		"from the start to the return of the action",
		"from the return to the store's answer",
	}
)

// All returns the stages in order.
func All() []Stage { return []Stage{Leased, Started, Finished, Committed} }

// String names the stage by the moment at its end.
func (s Stage) String() string { return names[s] }

// Text describes the stage's start and end.
func (s Stage) Text() string { return texts[s] }

// Recorder records stage durations for each interval of a run. It is safe for concurrent use.
type Recorder struct {
	span  time.Duration
	every int

	idle sync.Pool // for pages' maps: most instances of a long run have ended and need none

	mu    sync.Mutex
	hists [count][]*hdrhistogram.Histogram // by interval; nil: no data
}

// New makes a recorder for so many intervals of length span. It records one of every instances: 1 records all.
func New(span time.Duration, intervals, every int) *Recorder {
	r := &Recorder{span: max(span, 1), every: max(every, 1)}
	for s := range r.hists {
		r.hists[s] = make([]*hdrhistogram.Histogram, max(intervals, 1))
	}
	return r
}

// Every is n if one of n instances is recorded.
func (r *Recorder) Every() int { return r.every }

// Page is the state of an open instance. It is not safe for concurrent use.
type Page struct {
	recorder  *Recorder
	committed int64               // the instance's latest commit
	runs      map[graph.Run]times // open ones; nil: none
}

type times struct{ ready, leased, started, finished int64 }

// Page opens a page for the i-th instance; nil: not recorded. The methods of a nil page do nothing.
func (r *Recorder) Page(i int) *Page {
	const scatter = 0x9E3779B1 // 2³² over the golden ratio: selects evenly from instances that alternate
	if r == nil || int(uint32(i)*scatter>>16)%r.every != 0 {
		return nil
	}
	return &Page{recorder: r}
}

// Store notes that the instance was stored.
func (p *Page) Store(at int64) {
	if p != nil {
		p.committed = max(p.committed, at)
	}
}

// Lease notes that a node run arrived at an engine. An ended sleep also does, but has no further stages.
func (p *Page) Lease(run graph.Run, at int64) {
	if p == nil {
		return
	}
	ready := p.committed
	if ready == 0 || ready > at {
		ready = at // it came with the commit of the submission, which is reported later
	}
	if p.runs == nil {
		p.runs, _ = p.recorder.idle.Get().(map[graph.Run]times)
	}
	if p.runs == nil {
		p.runs = map[graph.Run]times{}
	}
	p.runs[run] = times{ready: ready, leased: at}
}

// Start notes that a worker took it.
func (p *Page) Start(run graph.Run, at int64) {
	if p == nil {
		return
	}
	if t, ok := p.runs[run]; ok {
		t.started = at
		p.runs[run] = t
	}
}

// Finish notes that its action returned.
func (p *Page) Finish(run graph.Run, at int64) {
	if p == nil {
		return
	}
	if t, ok := p.runs[run]; ok && t.started > 0 {
		t.finished = at
		p.runs[run] = t
	}
}

// Commit notes that the store applied its completion.
func (p *Page) Commit(run graph.Run, at int64) {
	if p == nil {
		return
	}
	p.committed = max(p.committed, at)
	t, ok := p.runs[run]
	if !ok {
		return
	}
	if delete(p.runs, run); len(p.runs) == 0 {
		p.recorder.idle.Put(p.runs)
		p.runs = nil
	}
	if t.finished > 0 {
		p.recorder.record(at, [count]int64{t.leased - t.ready, t.started - t.leased, t.finished - t.started, at - t.finished})
	}
}

// A histogram has two significant digits: an error within 1 %.
const (
	shortest = 1
	longest  = int64(time.Hour)
	digits   = 2
)

func (r *Recorder) record(at int64, took [count]int64) {
	interval := int(at / int64(r.span))
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.hists {
		of := r.hists[s]
		i := min(interval, len(of)-1)
		if of[i] == nil {
			of[i] = hdrhistogram.New(shortest, longest, digits)
		}
		_ = of[i].RecordValue(min(max(took[s], 0), longest)) // cannot fail: within bounds
	}
}

// Summary is a stage's durations over some intervals; all zero if Count is.
type Summary struct {
	Count                          int
	Mean, P50, P90, P99, P999, Max time.Duration
}

// Over summarizes a stage over the node runs committed within the intervals [first, last).
func (r *Recorder) Over(s Stage, first, last int) Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := hdrhistogram.New(shortest, longest, digits)
	for i := max(first, 0); i < min(last, len(r.hists[s])); i++ {
		if h := r.hists[s][i]; h != nil {
			sum.Merge(h)
		}
	}
	if sum.TotalCount() == 0 {
		return Summary{}
	}
	at := func(p float64) time.Duration { return time.Duration(sum.ValueAtPercentile(p)) }
	return Summary{int(sum.TotalCount()), time.Duration(sum.Mean()), at(50), at(90), at(99), at(99.9), time.Duration(sum.Max())}
}

// Median is a stage's median over one interval; ok is false without data.
func (r *Recorder) Median(s Stage, interval int) (m time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if interval < 0 || interval >= len(r.hists[s]) || r.hists[s][interval] == nil {
		return 0, false
	}
	return time.Duration(r.hists[s][interval].ValueAtPercentile(50)), true
}
