package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/capacity"
	"pulley/bench/knee"
	"pulley/bench/load"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/live"
	"pulley/internal/plural"
	"pulley/reports"
	"pulley/reports/record"
	"pulley/scenarios"
)

// KneeCmd is pulley knee.
type KneeCmd struct {
	console.BackendsFlag `set:"backends=push"`
	systemsFlags
	Objective       []string      `sep:"none" placeholder:"OBJECTIVE" help:"What must hold, as in \"p99 < 50ms\" or \"max < 1s\"; may be repeated. Default: what the scenario says, else p99 below three times what it is in a closed loop at half of saturation."`
	MaxDuration     time.Duration `default:"4m" placeholder:"TIME" help:"How long the search may take for each scheduler. Default: 4m."`
	Tolerance       string        `default:"5%" placeholder:"SHARE" help:"How far apart the highest rate that holds and the lowest that breaks may be. Default: 5%."`
	Arrivals        string        `enum:",poisson,constant" default:"" placeholder:"KIND" help:"poisson or constant. Default: constant where the scenario says so, else poisson."`
	Scale           string        `placeholder:"VALUES" help:"Instead of a knee, measure how throughput changes with workers or connections, as in workers=1,2,4,8,16 or connections=2,4,8,16, and fit the Universal Scalability Law."`
	Runs            int           `default:"3" placeholder:"N" help:"Of each value of --scale, from 1 to 100. Default: 3."`
	console.OutFlag `set:"folder=out/knee" set:"files=the record, the charts and the report"`
	console.FormatFlag
	testbedFlags
}

// Help completes the command's help.
func (KneeCmd) Help() string {
	return "Searches for the highest rate of arrivals at which latencies keep an objective. A closed loop with a tenth of --in-flight " +
		"tells where to begin; then instances come at rates of their own, whatever the scheduler does, until the highest rate that holds and the " +
		"lowest that breaks are near each other. A rate breaks where its runs are overloaded or too many latencies are above the bound; " +
		"runs that contradict each other are repeated, and one that is invalid, since other programs use the machine or the generator is late, decides nothing. " +
		"In the end the knee is checked, three times each: at 80 % of it p99 is compared with that of a closed loop which does as much, and at 120 % it should be overload: the backlog grows, or the objective breaks.\n\n" +
		"Written are knee.json, with every run, and charts of latency over rate, or of throughput and the law, as SVG and PNG, and report.html. " +
		"Ctrl-C ends the search with what it has. Garbage is collected as with GOGC=400, unless that is set.\n\n" +
		"Exit status: 0 if a knee is found or the highest rate that is searched holds, 1 if the objective holds at no rate or a result was wrong, " +
		"2 if something could not be run (what was found before it is written), 3 if it stays undecided.\n\nExamples:\n\n" +
		"  pulley knee fanout --backends push,journal,pull\n" +
		"  pulley knee chain=10 --objective \"p99 < 20ms\" --max-duration 5m\n" +
		"  pulley knee orders.yaml --backends journal --format json\n" +
		"  pulley knee fanout --scale connections=2,4,8,12,16,24"
}

type kneeJob struct {
	kase       bench.Case
	specs      []bench.TestbedSpec
	objectives []record.KneeObjective
	arriving   capacity.Arriving
	tolerance  float64
	limits     load.Limits
	axis       capacity.Axis // empty: search for a knee
	values     []int
	run        *live.Run
}

// Run searches, writes the record and the charts, and prints the result.
func (o *KneeCmd) Run(c *console.Console) error {
	job, err := o.config(c)
	if err != nil {
		return console.Refuse(err)
	}
	ctx, stop, err := console.Begin(o.Out, func() error { return o.mayReplace(job) })
	if err != nil {
		return err
	}
	defer stop()
	run, end := c.Follow("knee", o.Out)
	job.run = run
	report, failed := o.measure(ctx, c, job)
	err = o.finish(c, report, console.Ended(ctx, failed))
	end(err)
	return err
}

// After a failure or an interrupt, finish also writes what was found: that took minutes.
func (o *KneeCmd) finish(c *console.Console, report *record.KneeReport, failed error) error {
	if failed != nil && len(report.Knees)+len(report.Scalings) == 0 {
		return failed
	}
	if err := o.write(report); err != nil {
		return err
	}
	if err := o.print(c, report); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return kneeVerdict(report)
}

func kneeVerdict(r *record.KneeReport) error {
	undecided := false
	for i := range r.Knees {
		k := &r.Knees[i]
		if text := wrongResult(k); text != "" {
			return &console.Status{Code: console.ExitFailed, Err: errors.New(text)}
		}
		if k.Kind == string(knee.Never) {
			return &console.Status{Code: console.ExitFailed, Err: fmt.Errorf("the objective holds at no rate on %s", k.Backend)}
		}
		undecided = undecided || k.Kind == string(knee.Undecided)
	}
	for i := range r.Scalings {
		undecided = undecided || r.Scalings[i].Law == nil
	}
	if undecided {
		return &console.Status{Code: console.ExitInconclusive}
	}
	return nil
}

func wrongResult(k *record.Knee) string {
	runs := slices.Clone(k.Closed)
	for _, p := range k.Points {
		runs = append(runs, p.Runs...)
	}
	for _, r := range runs {
		for _, f := range r.Findings {
			if f.Kind == load.KindWrong {
				return f.Text
			}
		}
	}
	return ""
}

// config checks and builds everything that needs no server.
func (o *KneeCmd) config(c *console.Console) (*kneeJob, error) {
	if o.Runs < 1 || o.Runs > 100 {
		return nil, fmt.Errorf("--runs %d: choose from 1 to 100", o.Runs)
	}
	backends, err := designs.ParseAll(o.Backends)
	if err != nil {
		return nil, err
	}
	job := &kneeJob{arriving: capacity.Arriving(o.Arrivals)}
	if job.kase, job.limits, err = o.find(c); err != nil {
		return nil, err
	}
	if job.arriving == "" && strings.HasPrefix(job.kase.Arriving.String(), string(capacity.Constant)+":") {
		job.arriving = capacity.Constant
	}
	if job.tolerance, err = console.ParseShare(o.Tolerance); err != nil {
		return nil, fmt.Errorf("--tolerance %s: %w", o.Tolerance, err)
	}
	if err := (capacity.KneeSpec{MaxTime: o.MaxDuration, Tolerance: job.tolerance}).Validate(); err != nil {
		return nil, err
	}
	if job.objectives, err = o.objectives(&job.kase); err != nil {
		return nil, err
	}
	if o.Scale != "" {
		if job.axis, job.values, err = capacity.ParseAxis(o.Scale); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	behind, err := o.greet()
	if err != nil {
		return nil, err
	}
	var specs []bench.TestbedSpec
	for i := range behind {
		specs = append(specs, o.testbedOf(job.kase, &behind[i]))
	}
	for i := range backends {
		if len(behind) == 0 {
			specs = append(specs, o.testbed(job.kase, backends[i]))
		}
	}
	for _, spec := range specs {
		if job.axis != "" {
			if _, err := job.axis.Scale(spec, job.values[0]); err != nil {
				return nil, err
			}
		}
		job.specs = append(job.specs, spec)
	}
	return job, nil
}

func (o *KneeCmd) objectives(k *bench.Case) (out []record.KneeObjective, err error) {
	for _, text := range o.Objective {
		p, err := scenarios.ParseObjective(text)
		if err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
		out = append(out, record.KneeObjective{Percentile: p.Percentile, MostNS: int64(p.Most)})
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, p := range k.Objectives {
		if p.Percentile < 50 {
			return nil, fmt.Errorf("the scenario's objective is about p%v; a knee can be searched from p50 on: say --objective", p.Percentile)
		}
		out = append(out, record.KneeObjective{Percentile: p.Percentile, MostNS: int64(p.Most), Source: "the scenario's objective"})
	}
	return out, nil
}

func (o *KneeCmd) mayReplace(job *kneeJob) error {
	if _, err := record.ReadKnees(filepath.Join(o.Out, record.KneeFile)); err == nil {
		return nil
	}
	names := []string{record.KneeFile, record.ReportFile}
	for _, s := range job.specs {
		name := reports.KneeChartName("knee", job.kase.Workload.Name, job.kase.Workload.Size, s.Name())
		names = append(names, name+".svg", name+".png")
	}
	return console.MayReplace(o.Out, names...)
}

// measure opens a server if needed. It returns earlier results also with an error.
func (o *KneeCmd) measure(ctx context.Context, c *console.Console, job *kneeJob) (report *record.KneeReport, err error) {
	report = &record.KneeReport{
		Command: measure.Command(os.Args), Tool: measure.Tool("pulley"), Host: measure.Host(), StartedAt: time.Now(), Methods: capacity.Methods(),
	}
	defer func() {
		report.EndedAt = time.Now()
		report.Interrupted = ctx.Err() != nil
	}()
	var dsn, way string
	if slices.ContainsFunc(job.specs, bench.TestbedSpec.NeedsPostgres) {
		server, closing, err := o.Serve(ctx, c)
		if err != nil {
			return report, err
		}
		defer closing()
		dsn, way = server.DSN(), server.Describe()
	}
	if job.axis == "" {
		c.Say("%s: %s each, %s at most", plural.Of(len(job.specs), "search", "searches"), o.MaxDuration, time.Duration(len(job.specs))*o.MaxDuration)
	}
	for _, spec := range job.specs {
		if spec.NeedsPostgres() {
			spec.DSN, spec.Way = dsn, way
		}
		if spec, err = o.tune(ctx, c, spec); err != nil {
			return report, err
		}
		one := o.search
		if job.axis != "" {
			one = o.scale
		}
		if err := one(ctx, c, job, spec, report); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (o *KneeCmd) search(ctx context.Context, c *console.Console, job *kneeJob, spec bench.TestbedSpec, report *record.KneeReport) (err error) {
	c.Say("%s on %s: %s at most", job.kase, spec.Name(), o.MaxDuration)
	bed, err := bench.OpenTestbed(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close(context.WithoutCancel(ctx))) }()
	if bed.Server() != nil {
		report.Postgres = bed.Server()
	}
	began, step := time.Now(), job.stepOf(spec, o.MaxDuration)
	job.run.Step(step)
	k, err := capacity.FindKnee(ctx, capacity.KneeSpec{
		Run: bed.Run, InFlightMost: bed.InFlight(), Arriving: job.arriving, Objectives: job.objectives, Tolerance: job.tolerance, MaxTime: o.MaxDuration,
		Seed: o.Seed, Limits: job.limits, Say: func(line string) {
			elapsed := time.Since(began).Seconds()
			job.run.Say("%5.0fs  %s", elapsed, line)
			now := step
			now.Detail, now.Done = line, step.Done+elapsed
			job.run.Step(now)
		},
	})
	w := &job.kase.Workload
	k.Scenario, k.Size, k.Nodes, k.Backend, k.Workers, k.Engines = w.Name, w.Size, w.Nodes, spec.Name(), bed.Workers(), bed.Engines()
	k.System = spec.RecordSystem()
	if len(k.Closed) > 0 {
		report.Knees = append(report.Knees, *k)
	}
	return err
}

// stepOf is the begin of a search. All take as long at most.
func (j *kneeJob) stepOf(spec bench.TestbedSpec, most time.Duration) live.Step {
	i := slices.IndexFunc(j.specs, func(s bench.TestbedSpec) bool { return s.Name() == spec.Name() })
	return live.Step{
		What: fmt.Sprintf("%s on %s", j.kase, spec.Name()), Done: float64(max(i, 0)) * most.Seconds(), Total: float64(len(j.specs)) * most.Seconds(), Unit: "s",
	}
}

func (o *KneeCmd) scale(ctx context.Context, c *console.Console, job *kneeJob, spec bench.TestbedSpec, report *record.KneeReport) error {
	c.Say("%s on %s: %d runs for each of %d numbers of %s", job.kase, spec.Name(), o.Runs, len(job.values), job.axis)
	done := 0
	s, err := capacity.MeasureScaling(ctx, capacity.ScaleSpec{
		Axis: job.axis, Values: job.values, Runs: o.Runs, Seed: o.Seed, Limits: job.limits, Say: func(line string) {
			job.run.Say("  %s", line)
			done++
			job.run.Step(live.Step{What: fmt.Sprintf("%s on %s", job.kase, spec.Name()), Detail: line, Done: float64(done), Total: float64(o.Runs * len(job.values)), Unit: "runs"})
		},
		Open: func(ctx context.Context, n int) (capacity.RunLoad, int, func(context.Context) error, error) {
			scaled, err := job.axis.Scale(spec, n)
			if err != nil {
				return nil, 0, nil, err
			}
			bed, err := bench.OpenTestbed(ctx, scaled)
			if err != nil {
				return nil, 0, nil, err
			}
			report.Postgres = bed.Server()
			return bed.Run, bed.InFlight(), bed.Close, nil
		},
	})
	w := &job.kase.Workload
	s.Scenario, s.Size, s.Nodes, s.Backend = w.Name, w.Size, w.Nodes, spec.Name()
	if len(s.Runs) > 0 {
		report.Scalings = append(report.Scalings, *s)
	}
	return err
}

func (o *KneeCmd) write(r *record.KneeReport) error {
	if err := record.WriteKnees(o.Out, r); err != nil {
		return err
	}
	for _, chart := range reports.KneeCharts(r) {
		for _, format := range []string{"svg", "png"} {
			path := filepath.Join(o.Out, chart.Name+"."+format)
			if err := record.WriteFile(path, func(w io.Writer) error { return chart.Write(w, format) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *KneeCmd) print(c *console.Console, r *record.KneeReport) error {
	write := reports.WriteKneeText
	if o.Format == "json" {
		write = record.EncodeKnees
	}
	if err := c.Show(func(w io.Writer) error { return write(w, r) }); err != nil {
		return err
	}
	for _, chart := range reports.KneeCharts(r) {
		c.Say("chart: %s", filepath.Join(o.Out, chart.Name+".png"))
	}
	return sayReport(c, "knee", o.Out)
}
