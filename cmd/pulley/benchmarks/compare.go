package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pulley/bench"
	"pulley/bench/ceiling"
	"pulley/bench/history"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/reports"
	"pulley/reports/record"
	"pulley/scenarios"
)

// CompareCmd is pulley compare.
type CompareCmd struct {
	Scenarios []string `arg:"" optional:"" placeholder:"SCENARIO" help:"What to run: scenarios (pulley list scenarios names them), with =SIZE or =SIZE,SIZE for sizes, a scenario's FILE.yaml, or a program, FILE.ir. Default: ${usual}."`
	console.ServerFlags
	console.BackendsFlag `set:"backends=push,pull"`
	systemsFlags
	console.InputFlag
	console.SetFlag
	Load            string        `enum:"both,alone,saturated" default:"both" help:"alone: one instance at a time, for latencies; saturated: as many as it takes to be no faster with more, for throughput; both: one after the other. Default: both."`
	Runs            int           `placeholder:"N" help:"Repetitions, from 1 to 1000; fewer than five show no difference. Default: 6; 5 with --quick."`
	RunDuration     time.Duration `placeholder:"TIME" help:"How long a saturated run takes, about, and up to four times that where a scheduler is slow; one of a lone instance takes a quarter of it. Default: 2s; 400ms with --quick."`
	Quick           bool          `help:"Less of everything, for a first look: 5 short runs, each scenario's two smallest sizes, no ceilings."`
	console.OutFlag `set:"folder=out/compare" set:"files=the record and the report"`
	History         string `placeholder:"FILE" help:"Also append what was found to this history, which pulley history reads."`
	Revision        string `placeholder:"COMMIT" help:"The commit that is measured, where the program does not know its own."`
	console.FormatFlag
	Trace                 []string `sep:"none" placeholder:"FILE" help:"A trace in WfFormat for the scenario trace; may be repeated. Default: generated ones."`
	console.TimeScaleFlag `set:"scale=0.0001"`
	Workers               int  `placeholder:"N" help:"Actions that an engine runs at once. Default: 16 for lone instances, 2000 when saturated."`
	InFlight              int  `placeholder:"N" help:"So many instances at once, and no other load: 1 is a lone instance. Default: 500 when saturated, fewer if they are large."`
	Undisturbed           bool `help:"Also run each scenario that puts the store under pressure without that, as NAME-undisturbed."`
	Engines               int  `default:"1" placeholder:"N" help:"Engines that share the store, from 1 to 64, each with its own workers and connections. Default: 1."`
	MinNodes              int  `placeholder:"N" help:"Node runs in one run at least, instead of --run-duration: instances are repeated until then."`
	console.TimeoutFlag   `set:"wait=5m" set:"answer=the end of a run, which is invalid if it takes longer"`
	console.SeedFlag      `set:"drawn=generated traces, and of what scenarios draw"`
	CeilingDuration       time.Duration `default:"200ms" placeholder:"TIME" help:"How long each point is measured, before the first run and after the last, of what raw SQL can do for the schedulers' rows; takes some 6 s for each kind of scheduler and graph, of which at most twelve are measured. Default: 200ms."`
	NoCeiling             bool          `help:"Leave that out."`
	Profile               bool          `help:"Also show what processor time goes into, for each node run by stage, and write a profile of each row for go tool pprof."`

	PlantSlowdown float64 `hidden:"" help:"Slow every run down by so much, for pulley gate --self-test."`
	PlantRows     int     `hidden:"" help:"Read so many rows more per node, for the same."`

	ownLoads           bool  `kong:"-"` // no flag sets the load, so that scenarios may
	CeilingConnections []int `hidden:"" placeholder:"N" help:"The numbers of connections that are tried for that. Default: those of pulley ceiling."`
}

// Help completes the command's help.
func (CompareCmd) Help() string {
	return "Every result is checked against the expected one. Written are manifest.json, summary.json, samples.ndjson, " +
		"hop.hlog, instance.hlog and report.html, with --profile cpu-*.pb.gz. Ctrl-C ends the comparison with what it has. " +
		"Two schedulers are said to differ only where the interval of their ratio over all runs shows it; ~ stands elsewhere. " +
		"Garbage is collected as with GOGC=400, unless that is set.\n\n" +
		"Exit status: 0 if every run was valid, 1 if one was not, 2 if nothing could be run.\n\nExamples:\n\n" +
		"  pulley compare fanout=10,100 chain=10 --backends push,journal,pull --quick\n" +
		"  pulley compare flow.ir --input @in.json --backends push,eager\n" +
		"  pulley compare fanout chain --systems push,river --systems 'exec:./my-adapter' --runs 3\n"
}

// Run compares, writes the record and the report, and prints the table.
func (o *CompareCmd) Run(c *console.Console) error {
	cfg, err := o.config(c)
	if err != nil {
		return console.Refuse(err)
	}
	ctx, stop, err := console.Begin(o.Out, o.mayReplace)
	if err != nil {
		return err
	}
	defer stop()
	run, end := c.Follow("compare", o.Out)
	cfg.Progress = showRuns(run)
	err = o.finish(ctx, c, cfg)
	end(err)
	return err
}

func (o *CompareCmd) finish(ctx context.Context, c *console.Console, cfg bench.CompareConfig) error {
	found, err := o.compare(ctx, c, cfg)
	if err != nil {
		return console.Ended(ctx, err)
	}
	if found.Manifest.Interrupted && len(found.Manifest.Samples) == 0 {
		c.Say("nothing was measured yet: no report is written")
		return console.Ended(ctx, errors.New("interrupted"))
	}
	found.Manifest.Tool.Revision = cmp.Or(found.Manifest.Tool.Revision, o.Revision)
	if err := o.write(found); err != nil {
		return err
	}
	if err := o.print(c, found); err != nil {
		return err
	}
	if found.Manifest.Interrupted {
		return console.Ended(ctx, nil)
	}
	if o.History != "" {
		if err := appendHistory(c, o.History, recordRuns(c, found.Summary, found.Manifest)); err != nil {
			return err
		}
	}
	if !found.Valid() {
		return &console.Status{Code: console.ExitFailed, Err: fmt.Errorf("some runs were not valid: see the warnings in %s", filepath.Join(o.Out, record.SummaryFile))}
	}
	return nil
}

// mayReplace rejects, before hours are spent, a directory with files of no earlier run, and an unusable history.
func (o *CompareCmd) mayReplace() error {
	if err := console.MayReplace(o.Out, compareFiles...); err != nil || o.History == "" {
		return err
	}
	if _, err := history.Append(o.History, nil); err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	return nil
}

// config checks and builds everything that needs no server.
func (o *CompareCmd) config(c *console.Console) (bench.CompareConfig, error) {
	if err := checkTimeScale(o.TimeScale); err != nil {
		return bench.CompareConfig{}, err
	}
	o.defaults()
	if o.Runs < 1 || o.Runs > 1000 {
		return bench.CompareConfig{}, fmt.Errorf("--runs %d: choose from 1 to 1000", o.Runs)
	}
	if o.RunDuration < 10*time.Millisecond || o.RunDuration > time.Hour {
		return bench.CompareConfig{}, fmt.Errorf("--run-duration %s: choose from 10ms to 1h", o.RunDuration)
	}
	for flag, n := range map[string]int{"workers": o.Workers, "in-flight": o.InFlight, "min-nodes": o.MinNodes} {
		if n < 0 || n > 1_000_000 {
			return bench.CompareConfig{}, fmt.Errorf("--%s %d: choose from 1 to 1000000", flag, n)
		}
	}
	loads, err := o.loads()
	if err != nil {
		return bench.CompareConfig{}, err
	}
	if o.CeilingDuration < ceiling.MinDuration || o.CeilingDuration > time.Minute {
		return bench.CompareConfig{}, fmt.Errorf("--ceiling-duration %s: choose from %s to 1m, or --no-ceiling", o.CeilingDuration, ceiling.MinDuration)
	}
	if o.NoCeiling {
		o.CeilingDuration = 0
	}
	behind, err := o.greet(givenFlags(map[string]bool{
		"--profile": o.Profile, "--history": o.History != "", "--undisturbed": o.Undisturbed, "--plant-slowdown": o.PlantSlowdown != 0, "--plant-rows": o.PlantRows != 0,
	})...)
	if err != nil {
		return bench.CompareConfig{}, err
	}
	var specs []designs.Spec
	if len(o.Systems) == 0 {
		if specs, err = designs.ParseAll(o.Backends); err != nil {
			return bench.CompareConfig{}, err
		}
	}
	input, err := o.InputOf(c, o.Scenarios...)
	if err != nil {
		return bench.CompareConfig{}, err
	}
	cases, err := bench.Cases(bench.CaseOptions{
		Input:     input,
		Scenarios: o.Scenarios, Traces: o.Trace, Few: o.Quick, Undisturbed: o.Undisturbed, Set: o.Set,
		Options: scenarios.Options{TimeScale: o.TimeScale, Seed: o.Seed},
	})
	if err != nil {
		return bench.CompareConfig{}, err
	}
	return bench.CompareConfig{
		Cases: cases, Backends: specs, Systems: behind, Runs: o.Runs, Loads: loads, OwnLoads: o.ownLoads, Engines: o.Engines, RunTimeout: o.Timeout, Seed: o.Seed, Ceilings: o.CeilingDuration, CeilingConnections: o.CeilingConnections, Profile: o.Profile, Command: os.Args,
		Tune: !o.NoTune && !o.Quick, Slots: o.Workers, Plant: bench.Plant{Slowdown: o.PlantSlowdown, RowsPerNode: o.PlantRows},
	}, nil
}

func (o *CompareCmd) compare(ctx context.Context, c *console.Console, cfg bench.CompareConfig) (*bench.Comparison, error) {
	if len(cfg.Systems) > 0 || slices.ContainsFunc(cfg.Backends, designs.Spec.NeedsPostgres) {
		server, closing, err := o.Serve(ctx, c)
		if err != nil {
			return nil, err
		}
		defer closing()
		cfg.DSN, cfg.Way = server.DSN(), server.Describe()
	}
	c.Say("%s", estimate(cfg, o.Quick))
	return bench.Compare(ctx, cfg)
}

func (o *CompareCmd) write(found *bench.Comparison) error {
	if err := found.Write(o.Out); err != nil {
		return err
	}
	_, err := reports.Write("compare", o.Out)
	return err
}

func (o *CompareCmd) print(c *console.Console, found *bench.Comparison) error {
	err := c.Show(func(w io.Writer) error {
		if o.Format != "json" {
			return reports.WriteText(w, found.Summary, found.Manifest)
		}
		summary, err := record.ReadSummary(filepath.Join(o.Out, record.SummaryFile))
		if err != nil {
			return err
		}
		return console.EncodeJSON(w, summary)
	})
	if err != nil {
		return err
	}
	c.Say("report: %s", filepath.Join(o.Out, record.ReportFile))
	return nil
}

func (o *CompareCmd) defaults() {
	o.ownLoads = o.InFlight == 0 && o.Load == "both" && o.Workers == 0 && o.RunDuration == 0 && o.MinNodes == 0 && !o.Quick
	if o.Runs == 0 {
		if o.Runs = 6; o.Quick {
			o.Runs = 5
		}
	}
	if o.RunDuration == 0 {
		if o.RunDuration = 2 * time.Second; o.Quick {
			o.RunDuration = 400 * time.Millisecond
		}
	}
	o.NoCeiling = o.NoCeiling || o.Quick
}

// aloneShare is the length of a lone instance's run relative to a saturated one: it soon has hundreds of latencies.
const aloneShare = 0.25

func (o *CompareCmd) loads() ([]bench.Load, error) {
	alone, saturated := bench.AloneLoad(), bench.SaturatedLoad()
	alone.RunTime, saturated.RunTime = time.Duration(aloneShare*float64(o.RunDuration)), o.RunDuration
	var loads []bench.Load
	switch {
	case o.InFlight > 0 && o.Load != "both":
		return nil, fmt.Errorf("--in-flight %d says what the load is; leave out --load %s", o.InFlight, o.Load)
	case o.InFlight == 1 || o.InFlight == 0 && o.Load == "alone":
		loads = []bench.Load{alone}
	case o.InFlight > 1:
		saturated.InFlight, saturated.NodesInFlight = o.InFlight, 0
		loads = []bench.Load{saturated}
	case o.Load == "saturated":
		loads = []bench.Load{saturated}
	default:
		loads = []bench.Load{alone, saturated}
	}
	for i := range loads {
		l := &loads[i]
		l.Workers = cmp.Or(o.Workers, l.Workers)
		if o.MinNodes > 0 {
			l.MinNodes, l.RunTime = o.MinNodes, 0
		}
	}
	return loads, nil
}

func estimate(cfg bench.CompareConfig, quick bool) string {
	text := fmt.Sprintf("%d rows, of %d runs each", cfg.Rows(), cfg.Runs)
	if took, known := cfg.Estimate(); known {
		text += ", about " + took.Round(estimateGrain(took)).String() + ", up to four times that where schedulers are slow"
		if !quick && took > 3*time.Minute {
			text += "; --quick takes a fraction of it"
		}
	}
	return text
}

func estimateGrain(took time.Duration) time.Duration {
	if took < 2*time.Minute {
		return 5 * time.Second
	}
	return time.Minute
}

var compareFiles = []string{record.ManifestFile, record.SummaryFile, record.SamplesFile, record.ReportFile, record.HopFile, record.InstanceFile}
