package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/internal/plural"
	"pulley/reports"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
	"pulley/sim/gantt"
)

// ForecastCmd is pulley forecast: a simulated world without faults shows when work is done.
type ForecastCmd struct {
	target
	Workers               int      `required:"" placeholder:"N" help:"Simulate so many workers, from 1 to 1000000."`
	Service               []string `sep:"none" placeholder:"[ACTION=]DIST" help:"How long actions take, of all or of one: exp:10ms, or trace for the recorded times, times --time-scale; may be repeated. Default: what the scenario's file says; trace for traces."`
	Arrivals              string   `placeholder:"RATE/s|DIST" help:"When instances come: so many a second at random (Poisson), the time from one to the next, or a process such as ramp:10/s..50/s,30s or closed:8. Default: what the scenario's file says, or all at the start."`
	Latency               string   `placeholder:"DIST" help:"How long a call of the store takes. Default: const:0s."`
	Instances             int      `placeholder:"N" help:"How many instances. Default: 1, or each of several workloads once, or 1000 with arrivals."`
	Runs                  int      `placeholder:"N" help:"Independent runs, from 1 to 10000; six or more give 95 % intervals. Default: 10, or 1 for 200,000 node runs and more."`
	console.SeedFlag      `set:"drawn=the first run; each further one has the next. Also of generated traces"`
	Measured              string `placeholder:"DIR" help:"A folder that pulley bench or pulley compare wrote for the same scenario and size: its latencies stand beside the simulated ones."`
	Trace                 string `placeholder:"FILE" help:"A trace in WfFormat for the scenario trace. Default: a generated one."`
	Shape                 string `placeholder:"NAME" help:"Of a generated trace: scatter, forkjoin, montage, pipelines or layered. Default: montage."`
	console.TimeScaleFlag `set:"scale=1"`
	console.OutFlag       `set:"folder=out/forecast" set:"files=forecast.json, report.html, and of the first run schedule.csv, gantt.svg and gantt.png"`
	console.FormatFlag

	kind func(*sim.Attempt) string `kong:"-"` // of a trace's tasks, for the drawing
}

// Help completes the command's help.
func (ForecastCmd) Help() string {
	return "Workers are simulated, in virtual time, instead of started: the engine's own deciding code in a world in which nothing fails, and services take the " +
		"times of a distribution: " + dist.Help + ", where FILE is a trace in WfFormat, whose run times are drawn. The same work is done whatever the number of workers. " +
		"Told are makespan, waiting and utilisation, and what no schedule can beat.\n\n" + programHelp +
		"Exit status: 0; 2 for a mistake in the command line.\n\nExamples:\n\n" +
		"  pulley forecast fanout=500 --workers 16 --service exp:10ms\n" +
		"  pulley forecast flow.ir --input @in.json --workers 8 --service 'fetch=pareto:5ms..2s,1.2' --service const:1ms\n" +
		"  pulley forecast chain=1 --workers 4 --service lognormal:8ms,0.7 --arrivals 300/s"
}

// PlannedMost bounds the traces that the core plans. For larger traces arrays count readiness, with the same schedule.
var PlannedMost = 10_000

const tasksMax = 5_000_000

// Run simulates, writes and prints.
func (o *ForecastCmd) Run(c *console.Console) error {
	if o.Workers < 1 || o.Workers > 1_000_000 {
		return fmt.Errorf("--workers %d: choose from 1 to 1000000", o.Workers)
	}
	if o.Instances < 0 || o.Instances > 1_000_000 {
		return fmt.Errorf("--instances %d: choose from 1 to 1000000", o.Instances)
	}
	if o.Runs < 0 || o.Runs > 10_000 {
		return fmt.Errorf("--runs %d: choose from 1 to 10000", o.Runs)
	}
	return o.simulate(c)
}

func (o *ForecastCmd) simulate(c *console.Console) (err error) {
	defer func() { err = errors.Join(err, o.closeWorkers()) }()
	cfg, about, err := o.world(c)
	if err != nil {
		return console.Refuse(err)
	}
	measured, err := o.readMeasured()
	if err != nil {
		return console.Refuse(err)
	}
	if err := console.Writable(o.Out); err != nil {
		return err
	}
	nodes := len(cfg.Jobs)
	if nodes == 0 {
		if nodes = max(cfg.Workload.Nodes, 1); cfg.Mix != nil {
			nodes = max(cfg.Mix.Mean(), 1)
		}
	}
	if o.Runs == 0 {
		if o.Runs = 10; nodes*cfg.Instances >= 200_000 {
			o.Runs = 1
		}
	}
	cfg.EventsMax = math.MaxInt
	service := o.Service
	if len(service) == 0 {
		service = o.describe()
	}
	tool := measure.Tool("pulley")
	f := &Forecast{Forecast: record.Forecast{Command: measure.Command(os.Args), Tool: &tool, Scenario: about, Workers: o.Workers, Instances: cfg.Instances, Seed: o.Seed, Service: service, Arrivals: o.Arrivals, Latency: o.Latency, Measured: measured}}
	for run := range o.Runs {
		one := cfg
		one.Seed = o.Seed + uint64(run)
		if one.Service, err = o.services(cfg, one.Seed); err != nil {
			return err
		}
		got, err := sim.Predict(one)
		if err != nil {
			return err
		}
		if got.ViolationsTotal > 0 {
			return &console.Status{Code: console.ExitFailed, Err: fmt.Errorf("seed %d: %s", one.Seed, got.Violations[0])}
		}
		f.add(got)
		if run == 0 {
			if err := o.drawings(f, got); err != nil {
				return err
			}
		}
	}
	return o.tell(c, f)
}

func (o *ForecastCmd) world(c *console.Console) (cfg sim.Config, about string, err error) {
	cfg = sim.Config{Workers: o.Workers, Instances: o.Instances, Quiet: true}
	// Nothing is lost here, so no polling is needed.
	cfg.Dispatch.Lease, cfg.Dispatch.Poll, cfg.Dispatch.Sweep = 1000*time.Hour, 1000*time.Hour, 1000*time.Hour
	cfg.Dispatch.Batch, cfg.Dispatch.Pending, cfg.Dispatch.Queue = 1024, 4096, 4096
	if err := o.arrivals(&cfg); err != nil {
		return cfg, "", err
	}
	if o.Latency != "" {
		law, err := dist.Parse(o.Latency, dist.Durations, o.recorded)
		if err != nil {
			return cfg, "", fmt.Errorf("--latency %w", err)
		}
		cfg.Latency = law.Times()
	}
	if about, err = o.workload(c, &cfg); err != nil {
		return cfg, "", err
	}
	if cfg.Instances == 0 {
		cfg.Instances = o.instances(&cfg)
	}
	switch {
	case len(o.Service) > 0:
	case o.traced():
		o.Service = []string{"trace"}
	case !o.described():
		return cfg, "", errors.New("say how long actions take, as in --service exp:10ms")
	}
	_, err = o.services(cfg, 0)
	return cfg, about, err
}

// recorded reads a trace's run times, in nanoseconds.
func (o *ForecastCmd) recorded(file string) ([]int64, error) {
	t, err := wfformat.ReadFile(file, wfformat.Limits{})
	if err != nil {
		return nil, err
	}
	var times []int64
	for _, j := range sim.TraceJobs(t, o.TimeScale) {
		times = append(times, int64(j.Time))
	}
	return times, nil
}

func (o *ForecastCmd) services(cfg sim.Config, seed uint64) (sim.Service, error) {
	var all sim.Distribution
	one := map[string]sim.Distribution{}
	if slices.Equal(o.Service, []string{"trace"}) {
		switch {
		case !o.traced():
			return nil, errors.New("--service trace: only the scenario trace has recorded times; give a distribution, as in exp:10ms")
		case len(cfg.Jobs) > 0:
			return nil, nil // jobs have their own
		}
		return sim.Recorded, nil
	}
	for _, s := range o.Service {
		action, text, single := strings.Cut(s, "=")
		if !single {
			text = s
		}
		law, err := dist.Parse(text, dist.Durations, o.recorded)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--service %w", err)
		case !single && all != nil, one[action] != nil:
			return nil, fmt.Errorf("--service %s: the time of the same actions is there twice; write it once", s)
		case !single:
			all = law.Times()
		case !slices.Contains(calledIn(cfg), action):
			return nil, fmt.Errorf("--service %s: there is no such action; there are %s", s, strings.Join(calledIn(cfg), ", "))
		default:
			one[action] = law.Times()
		}
	}
	if o.described() {
		return o.ownServices(seed, one, all), nil
	}
	for _, action := range calledIn(cfg) {
		if all == nil && one[action] == nil {
			return nil, fmt.Errorf("--service: there is no time for action %s; write a distribution for all others too", action)
		}
	}
	return sim.Keyed(seed, func(action string) sim.Distribution {
		if d := one[action]; d != nil {
			return d
		}
		return all
	}), nil
}

func (o *ForecastCmd) traced() bool {
	name, _, _ := strings.Cut(o.Scenario, "=")
	return name == traceScenario
}

func calledIn(cfg sim.Config) []string {
	if cfg.Mix != nil {
		return cfg.Mix.Actions()
	}
	return cfg.Workload.Actions
}

func (o *ForecastCmd) workload(c *console.Console, cfg *sim.Config) (string, error) {
	if !o.traced() && (o.Trace != "" || o.Shape != "") {
		return "", errors.New("--trace and --shape are for the scenario trace; write pulley forecast trace --workers …")
	}
	if math.IsNaN(o.TimeScale) || o.TimeScale < 0 || o.TimeScale > 1e6 {
		return "", fmt.Errorf("--time-scale %v: choose from 0 to 1000000", o.TimeScale)
	}
	if o.isProgram() {
		var err error
		cfg.Workload, err = o.program(c)
		return o.Scenario, err
	}
	if o.Input != nil {
		return "", errNoProgram
	}
	return o.scenario(cfg)
}

func (o *ForecastCmd) trace(cfg *sim.Config, s scenarios.Scenario, size int) (string, error) {
	var t *wfformat.Trace
	var err error
	switch shape := wfformat.Shape(o.Shape); {
	case o.Trace != "" && (o.Shape != "" || strings.Contains(o.Scenario, "=")):
		return "", errors.New("a trace that is read has its own size and shape; leave them out, or --trace")
	case o.Trace != "":
		t, err = wfformat.ReadFile(o.Trace, wfformat.Limits{Tasks: tasksMax})
	case shape == "":
		t, err = wfformat.GenerateWithin(wfformat.Montage, size, o.Seed, tasksMax)
	default:
		t, err = wfformat.GenerateWithin(shape, size, o.Seed, tasksMax)
	}
	if err != nil {
		return "", err
	}
	about := fmt.Sprintf("trace %s (%d tasks)", t.Label(), len(t.Tasks))
	if len(t.Tasks) <= PlannedMost {
		o.kind = func(a *sim.Attempt) string {
			i, err := strconv.Atoi(strings.TrimPrefix(a.Node, "t")) // its nodes are t1, t2 and so on
			if err != nil || i < 1 || i > len(t.Tasks) {
				return a.Node
			}
			return gantt.KindOf(t.Tasks[i-1].Name)
		}
	}
	if len(t.Tasks) > PlannedMost {
		cfg.Jobs = sim.TraceJobs(t, o.TimeScale)
		for i := range cfg.Jobs {
			cfg.Jobs[i].Name = t.Tasks[i].Name
		}
		return about, nil
	}
	cfg.Workload, err = s.Build(0, scenarios.Options{Trace: t, TimeScale: o.TimeScale})
	return about, err
}

func (o *ForecastCmd) drawings(f *Forecast, got *sim.Forecast) error {
	if err := record.WriteFile(filepath.Join(o.Out, record.ScheduleFile), got.WriteSchedule); err != nil {
		return err
	}
	chart := gantt.Chart{
		Title: fmt.Sprintf("%s on %s: makespan %s, utilisation %.3g %%, seed %d", f.Scenario, plural.Of(o.Workers, "worker"),
			brief(got.Makespan), 100*got.Utilisation, got.Seed),
		Workers: o.Workers, Result: got.Result, Kind: o.kind,
	}
	if got.Bounds.CriticalPath > 0 && f.Arrivals == "" {
		chart.Marks = append(chart.Marks, gantt.Mark{At: got.Bounds.CriticalPath, Name: "critical path"})
	}
	if f.Arrivals == "" {
		chart.Marks = append(chart.Marks, gantt.Mark{At: got.Work / time.Duration(o.Workers), Name: "work / workers"})
	}
	if got.Makespan == 0 {
		return o.undrawn() // no time passed: nothing to draw
	}
	for _, format := range []string{"svg", "png"} {
		err := record.WriteFile(filepath.Join(o.Out, "gantt."+format), func(w io.Writer) error { return chart.Write(w, format) })
		if err != nil {
			return err
		}
	}
	return nil
}

// undrawn removes the drawings of an earlier forecast in the same folder.
func (o *ForecastCmd) undrawn() error {
	for _, format := range []string{"svg", "png"} {
		if err := os.Remove(filepath.Join(o.Out, "gantt."+format)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (o *ForecastCmd) tell(c *console.Console, f *Forecast) error {
	f.sum()
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	err = record.WriteFile(filepath.Join(o.Out, record.ForecastFile), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	report, err := reports.Write("forecast", o.Out)
	if err != nil {
		return err
	}
	text := f.text()
	if o.JSON() {
		text = string(data)
	}
	if err := c.Print(text); err != nil {
		return err
	}
	c.Say("schedule: %s", filepath.Join(o.Out, record.GanttFile))
	c.Say("report: %s", report)
	return nil
}
