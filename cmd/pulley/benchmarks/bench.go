package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/reports"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
)

// BenchCmd is pulley bench.
type BenchCmd struct {
	Rate     string `placeholder:"RATE" help:"Instances a second in the mean, as in 200 or 12000/m: the scenario's own arrivals at that rate, else Poisson arrivals."`
	Arrivals string `placeholder:"ARRIVALS" help:"How instances arrive, as in poisson:200/s, constant:200/s, ramp:10/s..500/s,30s or closed:16; see below. Default: what the scenario says."`
	console.BackendFlag
	systemsFlags
	Duration        time.Duration `placeholder:"TIME" help:"How long is measured. Default: what the scenario says, else 30s."`
	WarmUp          string        `placeholder:"TIME" help:"auto: until latencies have settled, for a third of --duration or 10s at most; auto:20s: for 20s at most; 5s: for exactly as long. Default: what the scenario says, else auto."`
	Drain           time.Duration `placeholder:"TIME" help:"How long instances that are open at the end may take. Default: what the scenario says, else 10s."`
	Percentile      string        `default:"p99" placeholder:"P" help:"The percentile that the run is judged by, from p50 to p99.99, or max. Default: p99."`
	Objective       []string      `sep:"none" placeholder:"BOUND" help:"A bound on a percentile of latencies, as in 'p99 < 50ms'; may be repeated. Default: what the scenario says."`
	console.OutFlag `set:"folder=out/bench" set:"files=the record, the histograms and the report"`
	console.FormatFlag
	testbedFlags
}

// Help completes the command's help.
func (BenchCmd) Help() string {
	var b strings.Builder
	b.WriteString("Instances come at the times that the arrivals intend, whatever the scheduler does, and latencies count from those times. " +
		"What cannot be sent in time is counted, never left out. Every result is checked. " +
		"Written are load.json, load.hlog (latency and service time for each interval), latency.hgrm and service.hgrm, which HdrHistogram's tools read, and report.html. " +
		"Garbage is collected as with GOGC=400, unless that is set.\n\n" +
		"The run is judged itself: it is invalid where the generator was late or had no time, where there are too few instances for the percentile, " +
		"where latencies drift within the measured phase, and where other programs use the machine. Where more is asked for than the scheduler can do, " +
		"that is overload. Ctrl-C ends the run with what it has, once something is measured.\n\n" +
		"Exit status: 0 if the run is valid and all objectives hold, 1 if one does not or a result was wrong, 2 if nothing could be run, " +
		"3 if the run is invalid or overloaded.\n\nExamples:\n\n" +
		"  pulley bench fanout=100 --rate 50 --duration 10s\n" +
		"  pulley bench orders.yaml --backend journal --percentile p99.9 --objective 'p99.9 < 100ms' --duration 2m\n" +
		"  pulley bench chain --arrivals ramp:10/s..2000/s,60s --warm-up 0s --duration 60s\n" +
		"  pulley bench chain --arrivals closed:16\n\nArrivals:\n\n")
	b.WriteString(console.Indent(arrivals.Help))
	return b.String()
}

// Run applies the load, writes the record, and prints it.
func (o *BenchCmd) Run(c *console.Console) error {
	spec, run, err := o.config(c)
	if err != nil {
		return console.Refuse(err)
	}
	ctx, stop, err := console.Begin(o.Out, o.mayReplace)
	if err != nil {
		return err
	}
	defer stop()
	shown, end := c.Follow("bench", o.Out)
	run.Progress = showLoad(shown, spec.Case.String()+" on "+spec.Name())
	found, err := o.bench(ctx, c, spec, run)
	err = o.finish(c, found, console.Ended(ctx, err))
	end(err)
	return err
}

// failed is why found is nil or incomplete.
func (o *BenchCmd) finish(c *console.Console, found *bench.OpenResult, failed error) error {
	if found == nil {
		return failed
	}
	found.Command = measure.Command(os.Args)
	if err := found.Write(o.Out); err != nil {
		return err
	}
	if err := o.print(c, found.Load); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return verdictOf(found.Load)
}

func verdictOf(l *record.Load) error {
	for _, f := range l.Findings {
		if f.Kind == load.KindWrong {
			return &console.Status{Code: console.ExitFailed, Err: errors.New(f.Text)}
		}
	}
	for _, b := range l.Objectives {
		if !b.Held && (l.Valid || l.Overloaded) {
			return &console.Status{Code: console.ExitFailed, Err: errors.New("an objective does not hold")}
		}
	}
	if !l.Valid {
		return &console.Status{Code: console.ExitInconclusive, Err: fmt.Errorf("the run decides nothing: %s", l.Findings[0].Text)}
	}
	return nil
}

// config checks and builds everything that needs no server.
func (o *BenchCmd) config(c *console.Console) (spec bench.TestbedSpec, run bench.OpenRun, err error) {
	backend, err := designs.Parse(o.Backend)
	if err != nil {
		return spec, run, err
	}
	k, limits, err := o.find(c)
	if err != nil {
		return spec, run, err
	}
	spec = o.testbed(k, backend)
	behind, err := o.greet()
	if err != nil {
		return spec, run, err
	}
	if len(behind) > 1 {
		return spec, run, fmt.Errorf("--systems: a run puts load on one system; name one, not %d", len(behind))
	}
	if len(behind) == 1 {
		spec = o.testbedOf(k, &behind[0])
	}
	run, err = o.load(&k, limits)
	return spec, run, err
}

const benchDuration = 30 * time.Second

func (o *BenchCmd) load(k *bench.Case, limits load.Limits) (run bench.OpenRun, err error) {
	run = bench.OpenRun{Seed: o.Seed, Limits: limits, Objectives: k.Objectives, Measure: o.Duration, Drain: o.Drain}
	if run.Measure == 0 {
		if run.Measure = k.Run.Measure; run.Measure == 0 {
			run.Measure = benchDuration
		}
	}
	run.Drain = cmp.Or(run.Drain, k.Run.Drain)
	if err := o.warmUp(k, &run); err != nil {
		return run, err
	}
	if run.Percentile, err = scenarios.ParsePercentile(o.Percentile); err != nil {
		return run, fmt.Errorf("--percentile: %w", err)
	}
	for i, text := range o.Objective {
		bound, err := scenarios.ParseObjective(text)
		if err != nil {
			return run, fmt.Errorf("--%w", err)
		}
		if i == 0 {
			run.Objectives = nil // replace the scenario's
		}
		run.Objectives = append(run.Objectives, bound)
	}
	run.Arrivals, err = o.arriving(k, &run)
	return run, err
}

const warmUpMax = 10 * time.Second

func (o *BenchCmd) warmUp(k *bench.Case, run *bench.OpenRun) error {
	text := o.WarmUp
	run.WarmUp = min(warmUpMax, run.Measure/3)
	run.WarmUp = run.WarmUp.Truncate(load.Span(run.Measure, run.Measure))
	if text == "" && !k.Run.WarmUpAuto && k.Run.WarmUp > 0 {
		run.WarmUp, run.WarmUpFixed = k.Run.WarmUp, true
	}
	if text == "" || text == "auto" {
		return nil
	}
	most, auto := strings.CutPrefix(text, "auto:")
	d, err := time.ParseDuration(most)
	if err != nil || d < 0 {
		return fmt.Errorf("--warm-up %s: write auto, auto:20s for the longest, or a time like 5s", text)
	}
	run.WarmUp, run.WarmUpFixed = d, !auto
	return nil
}

func (o *BenchCmd) arriving(k *bench.Case, run *bench.OpenRun) (arrivals.Arrivals, error) {
	a := k.Arriving
	if o.Arrivals != "" {
		if o.Rate != "" && !strings.Contains(o.Arrivals, ":") {
			return a, fmt.Errorf("--rate %s with --arrivals %s: write both as one, as in --arrivals %s:%s", o.Rate, o.Arrivals, o.Arrivals, perSecond(o.Rate))
		}
		parsed, err := arrivals.Parse(o.Arrivals, arrivals.ReadTraceFile)
		if err != nil {
			return a, fmt.Errorf("--arrivals: %w", err)
		}
		a = parsed
	}
	if o.Rate != "" {
		poisson, err := arrivals.Parse("poisson:"+perSecond(o.Rate), nil)
		if err != nil {
			return a, fmt.Errorf("--rate %s: write a number above 0 of instances a second, or one like 12000/m", o.Rate)
		}
		if a, err = atRate(a, poisson, run); err != nil {
			return a, err
		}
	}
	if n := a.InFlight(); len(n) > 1 {
		return a, fmt.Errorf("the arrivals %s are %d runs, and this is one; choose, as in --arrivals closed:%d", a, len(n), n[len(n)-1])
	}
	if !a.Open() && a.InFlight() == nil {
		return a, errors.New("it is not said how instances arrive; add --rate 200, or --arrivals (pulley bench --help lists them)")
	}
	return a, nil
}

// atRate scales arrivals to another's mean rate over the measured phase.
func atRate(a, like arrivals.Arrivals, run *bench.OpenRun) (arrivals.Arrivals, error) {
	if !a.Open() {
		if len(a.InFlight()) > 0 {
			return a, fmt.Errorf("the arrivals are %s, which has no rate; add --arrivals, as in --arrivals %s", a, like)
		}
		return like, nil
	}
	from, to := run.WarmUp, run.WarmUp+run.Measure
	have := a.MeanRate(from, to)
	if have == 0 {
		return a, fmt.Errorf("the arrivals %s bring nothing within %v to %v, so that they cannot have a rate there", a, from, to)
	}
	return a.Scaled(like.MeanRate(from, to) / have), nil
}

func perSecond(rate string) string {
	if strings.Contains(rate, "/") {
		return rate
	}
	return rate + "/s"
}

// mayReplace rejects a directory with files that no earlier run of pulley bench wrote.
func (o *BenchCmd) mayReplace() error {
	if _, err := record.ReadLoad(filepath.Join(o.Out, record.LoadFile)); err == nil {
		return nil
	}
	return console.MayReplace(o.Out, append(bench.LoadFiles(), record.ReportFile)...)
}

func (o *BenchCmd) bench(ctx context.Context, c *console.Console, spec bench.TestbedSpec, run bench.OpenRun) (found *bench.OpenResult, err error) {
	if spec.NeedsPostgres() {
		server, closing, err := o.Serve(ctx, c)
		if err != nil {
			return nil, err
		}
		defer closing()
		spec.DSN, spec.Way = server.DSN(), server.Describe()
	}
	if spec, err = o.tune(ctx, c, spec); err != nil {
		return nil, err
	}
	bed, err := bench.OpenTestbed(ctx, spec)
	if err != nil {
		return nil, err
	}
	c.Say("%s on %s, %s: up to %s of warm-up, %s measured, about %s in all", spec.Case, spec.Name(), run.Arrivals, run.WarmUp, run.Measure, run.WarmUp+run.Measure)
	found, err = bed.Observe(ctx, run)
	if closing := bed.Close(ctx); err == nil && closing != nil {
		found.Oppose(load.KindWrong, closing.Error())
	}
	return found, err
}

func (o *BenchCmd) print(c *console.Console, l *record.Load) error {
	err := c.Show(func(w io.Writer) error {
		if o.Format != "json" {
			return reports.WriteLoadText(w, l)
		}
		written, err := record.ReadLoad(filepath.Join(o.Out, record.LoadFile))
		if err != nil {
			return err
		}
		return console.EncodeJSON(w, written)
	})
	if err != nil {
		return err
	}
	c.Say("record: %s", filepath.Join(o.Out, record.LoadFile))
	return sayReport(c, "bench", o.Out)
}
