package benchmarks

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"pulley/bench/gate"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/reports/record"
)

type plantCase struct {
	Name     string
	flags    []string // of pulley compare, for the candidate
	workload []string
	found    func(*gate.Report) bool
	// Share of the tries that must find it; with nothing planted, fewer must.
	share float64
	times int // multiplies the number of tries
}

// Times are measured in memory, which is fastest, and rows on a server. Under changing other load, many short turns find more
// than few long ones.
var (
	memoryWorkload = []string{"fanout=100", "--backends", "memory", "--load", "saturated", "--min-nodes", "5000"}
	serverWorkload = []string{"fanout=100", "--backends", "push", "--load", "saturated", "--min-nodes", "5000", "--runs=1"}
)

func plantCases() []plantCase {
	slow := func(share float64, needed float64) plantCase {
		return plantCase{
			Name: fmt.Sprintf("%g%%", 100*share), flags: []string{fmt.Sprintf("--plant-slowdown=%g", share)}, workload: memoryWorkload,
			found: func(r *gate.Report) bool { return worse(r, gate.FigureTime) || worse(r, gate.FigureCPU) }, share: needed, times: 1,
		}
	}
	return []plantCase{
		{Name: gate.NothingPlanted, workload: memoryWorkload, found: func(r *gate.Report) bool { return r.Outcome == gate.Regression }, share: 0.05, times: 5},
		slow(0.05, 0.5), // the margin is 3 %: so close to it, half of the tries find it
		slow(0.1, 0.95),
		slow(0.25, 0.95),
		{Name: "row", flags: []string{"--plant-rows=1"}, workload: serverWorkload, found: func(r *gate.Report) bool { return worse(r, gate.FigureRows) }, share: 0.95, times: 1},
	}
}

func worse(r *gate.Report, figure string) bool {
	return slices.ContainsFunc(r.Lines, func(l gate.Line) bool { return l.Figure == figure && l.Decision == record.Worse })
}

func (o *GateCmd) selfTest(c *console.Console, opts gate.Options) error {
	opts.Paired = true
	cases := plantCases()
	if o.Only != "" {
		cases = slices.DeleteFunc(cases, func(k plantCase) bool { return k.Name != o.Only })
		if len(cases) == 0 {
			return fmt.Errorf("--only %s: nothing of that name is planted; there are none, 5%%, 10%%, 25%% and row", o.Only)
		}
	}
	if len(o.words) > 0 {
		for i := range cases {
			cases[i].workload = o.words
		}
	}
	for _, k := range cases {
		if _, err := flagsOf(k.workload); err != nil {
			return err
		}
	}
	ctx, stop := console.Interruptible()
	defer stop()
	report, ended := o.plantAll(ctx, c, opts, cases)
	if ended != nil && (ctx.Err() == nil || report.Tries() == 0) {
		return console.Ended(ctx, ended)
	}
	if err := o.publish(c, report, report.Text()); err != nil {
		return err
	}
	if o.Out != "" {
		if err := sayReport(c, "gate", o.Out); err != nil {
			return err
		}
	}
	if ended != nil {
		return console.Ended(ctx, ended)
	}
	if !report.OK {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

// plantAll returns earlier results also with an error.
func (o *GateCmd) plantAll(ctx context.Context, c *console.Console, opts gate.Options, cases []plantCase) (*gate.SelfTest, error) {
	report := &gate.SelfTest{Command: measure.Command(os.Args), OK: true, Pairs: o.pairs(), Disturbed: o.Disturb, Seed: o.Seed}
	var flags []string
	for _, k := range cases {
		if needsPostgres(k.workload) {
			flags = k.workload
		}
	}
	if flags == nil {
		flags = memoryWorkload
	}
	env, closing, err := o.serverFor(ctx, c, flags)
	if err != nil {
		return report, err
	}
	defer closing()
	if o.Disturb {
		defer disturb(o.Seed)()
	}
	for _, k := range cases {
		r, err := o.plant(ctx, c, opts, k, env)
		if r.Tries > 0 {
			report.Results = append(report.Results, r)
			report.OK = report.OK && r.OK
		}
		if err != nil {
			report.OK, report.Interrupted = false, true
			return report, err
		}
	}
	return report, nil
}

// plant makes all tries of one case. It returns earlier results also with an error.
func (o *GateCmd) plant(ctx context.Context, c *console.Console, opts gate.Options, k plantCase, env []string) (r gate.Planted, ended error) {
	program, err := os.Executable()
	if err != nil {
		return r, err
	}
	flags, err := flagsOf(k.workload)
	if err != nil {
		return r, err
	}
	turns := [2]compareTurn{{program, flags, env}, {program, append(slices.Clone(flags), k.flags...), env}}
	tries := cmp.Or(o.Tries, 20) * k.times
	r.Planted = k.Name
	began := time.Now()
	for r.Tries < tries {
		var judged *gate.Report
		if judged, ended = o.try(ctx, c, opts, turns, o.Seed+uint64(r.Tries)); ended != nil {
			r.Planned = tries
			break
		}
		countTry(&r, k, judged)
		c.Say("planted %s, try %d of %d: %s", k.Name, r.Tries, tries, judged.Sentence)
	}
	if r.Tries == 0 {
		return r, ended
	}
	judgePlant(&r, k, time.Since(began))
	return r, ended
}

func countTry(r *gate.Planted, k plantCase, judged *gate.Report) {
	r.Tries++
	if k.found(judged) {
		r.Found++
	}
	if judged.Outcome == gate.Inconclusive {
		r.Inconclusive++
	}
}

func judgePlant(r *gate.Planted, k plantCase, took time.Duration) {
	r.SecondsATry = math.Round(10*took.Seconds()/float64(r.Tries)) / 10
	limit := k.share * float64(r.Tries)
	if k.flags == nil {
		r.Needed, r.OK = fmt.Sprintf("less than %.0f", math.Ceil(limit)), float64(r.Found) < limit
	} else {
		r.Needed, r.OK = fmt.Sprintf("%.0f or more", math.Ceil(limit)), float64(r.Found) >= limit
	}
}

func (o *GateCmd) try(ctx context.Context, c *console.Console, opts gate.Options, turns [2]compareTurn, seed uint64) (*gate.Report, error) {
	dir, err := os.MkdirTemp("", "pulley-gate-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	before, after, err := o.alternateRuns(ctx, c, turns, filepath.Join(dir, "turns"), seed, false)
	if err != nil {
		return nil, err
	}
	a, b := gate.FromPairs("as it is", "planted", before, after)
	return gate.Judge(a, b, opts)
}

func disturb(seed uint64) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range runtime.NumCPU() {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				busy := time.Now().Add(time.Duration(r.ExpFloat64() * float64(500*time.Millisecond)))
				for x := 1.0; ctx.Err() == nil && x > 0 && time.Now().Before(busy); {
					for range 10_000 {
						x = x*1.0000001 + 1
					}
				}
				idle := time.NewTimer(time.Duration(r.ExpFloat64() * float64(500*time.Millisecond)))
				select {
				case <-idle.C:
				case <-ctx.Done():
				}
				idle.Stop()
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}
