package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/bench/measure"
	"pulley/chaos"
	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/process"
	"pulley/chaos/world"
	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/systems"
	"pulley/engine/oracle"
	"pulley/internal/live"
	"pulley/internal/yamlfile"
	"pulley/reports"
	"pulley/reports/record"
	"pulley/scenarios"
)

const engineCommand = "chaos-engine"

type chaosCmd struct {
	Scenarios []string `arg:"" optional:"" help:"What to run: scenarios (pulley list scenarios names them), with =SIZE for another size, a scenario's FILE.yaml, a program, FILE.ir, or a workflow in Python, FILE.py[:Class]. Default: fanout chain loop spread, small, and retry_in_spread."`
	console.InputFlag
	console.SetFlag
	console.BackendFlag
	Systems          []string      `sep:"none" placeholder:"NAME,…" help:"Systems behind adapters, instead of --backend: push, pull:scan=sql and other schedulers of ours, NAME for a program pulley-adapter-NAME beside this one or in PATH (make adapters builds some), or a command, as in 'exec:./my-adapter --flag'. May be repeated. Each is judged by what it promises."`
	Setting          []string      `sep:"none" placeholder:"NAME=VALUE" help:"With --systems: a setting of the adapters; may be repeated."`
	Faults           []string      `default:"all" placeholder:"KIND,…" help:"What goes wrong: all, none, or kinds and groups of kinds joined by commas; pulley list faults names them. Default: all."`
	Exhaustive       bool          `help:"Also go to every message of every kind of transaction: cut connections there, and kill engines."`
	MaxDuration      time.Duration `default:"5m" placeholder:"TIME" help:"How much longer --exhaustive may continue until it was at every message. Default: 5m."`
	Server           string        `enum:"any,docker" default:"any" help:"any: Postgres from binaries of this machine, or what else there is; docker: in a container, as faults of containers need it. Default: docker if --faults names container, any otherwise."`
	Hosts            string        `enum:"none,docker" default:"none" help:"none: engines are processes of this machine; docker: each is in a container of its own, as faults of hosts need it. Default: docker if --faults names host, none otherwise."`
	console.SeedFlag `set:"drawn=the plan of faults"`
	Duration         time.Duration `default:"30s" placeholder:"TIME" help:"How long things go wrong; 0s: until every kind has happened once. Default: 30s."`
	Engines          int           `default:"2" placeholder:"N" help:"Engines, each a process of its own. Default: 2."`
	Workers          int           `default:"16" placeholder:"N" help:"Actions that an engine runs at once. Default: 16."`
	InFlight         int           `placeholder:"N" help:"Instances at once. Default: 8; 400 with --rate."`
	Cancel           int           `default:"10" placeholder:"N" help:"Of so many instances one is canceled while it runs; 0 for none, as with --soak. Default: 10."`
	Rate             string        `placeholder:"RATE" help:"Instances submitted in a second, evenly, with --in-flight as the most at once; 60% for a share of the highest rate, which is then found first. Default: whenever one ends."`
	LimitConcurrency int           `placeholder:"N" help:"A limit that the engines share: so many attempts of all actions at once. On push and journal. Default: none."`
	LimitRate        string        `placeholder:"N/PERIOD" help:"A limit that the engines share: so many attempts start in a period, as in 100/s. On push and journal. Default: none."`
	Priorities       int           `placeholder:"N" help:"Instances have the priorities from 0 to N, at most 9, in turn. On push and journal. Default: 0."`
	Fair             bool          `help:"Workflows take turns, and instances, as with pulley work --fair. On push and journal."`
	Every            time.Duration `placeholder:"TIME" help:"From one fault's begin to the next, at least. Default: no longer than the plan says."`
	Soak             bool          `help:"Look for growth: memory, goroutines, connections, tables. The load is --rate 60% if nothing else is said, faults are --every 10s, for --duration; ended instances are removed."`
	Instances        int           `placeholder:"N" help:"The load continues until so many have ended, even if no fault is left. Default: 0."`
	Lease            time.Duration `default:"2s" placeholder:"TIME" help:"Of tasks. Default: 2s."`
	Replay           string        `placeholder:"FILE" help:"Run the case of a file again; other flags but --format, --out and --shrink count for nothing."`
	console.OutFlag  `set:"folder=out/chaos" set:"files=case.json, result.json, chaos.json, report.html and history.ndjson"`
	console.ShrinkFlag
	console.FormatFlag

	input    json.RawMessage           // of the scenarios that are FILE.ir
	whole    bool                      // every fault of the plan happens, without a time limit
	programs map[string]*cases.Program // of FILE.py, by how they are named
}

func (chaosCmd) Help() string {
	return "Engines in processes of their own run the scenarios on a Postgres that is started for it, while things go wrong. " +
		"Then all must end, and what every process saw is held against the invariants of the engine's documentation.\n\n" +
		"A run takes --duration, until all instances have ended, and half a minute at most to begin and to end. Faults for which there was no time are left out, and named: " +
		"it passes or fails by what it did. Faults that go to every message are not among all: --exhaustive has them.\n\n" +
		"A case that fails is made smaller, by running smaller ones, and written to DIR/case.json; --replay runs it again.\n\n" +
		"Exit status: 0 pass; 1 fail; 3 inconclusive: a planned fault did not happen, or there was too little load; " +
		"2 for a mistake in the command line, or where no Postgres can be started.\n\n" + chaosPythonHelp + "Examples:\n\n" +
		"  pulley chaos --backend journal --duration 1m\n" +
		"  pulley chaos fanout=20 --faults wire,process.kill --seed 7\n" +
		"  pulley chaos --exhaustive --max-duration 15m\n" +
		"  pulley chaos --limit-concurrency 7 --limit-rate 100/s --engines 4\n" +
		"  pulley chaos chain=3 --systems push,river,gue\n" +
		"  pulley chaos chain=3 --systems 'exec:python3 examples/adapters/queue.py'"
}

func (o *chaosCmd) Run(c *console.Console) error {
	if len(o.Systems) > 0 || o.Replay != "" && systems.IsCase(o.Replay) {
		return o.runSystems(c)
	}
	cfg, err := engineConfig()
	if err != nil {
		return err
	}
	if err := o.preparePrograms(c); err != nil {
		return console.Refuse(err)
	}
	if _, _, err := o.kase(); err != nil {
		return console.Refuse(err)
	}
	if err := console.Writable(o.Out); err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	if o.Replay == "" {
		c.Say("%s", o.estimate())
	}
	run, end := c.Follow("chaos", o.Out)
	cfg.Progress = func(line string) {
		run.Say("%s", line)
		run.Step(live.Step{What: o.Backend, Detail: line, Total: o.Duration.Seconds(), Unit: "s"})
	}
	err = o.finish(ctx, c, cfg)
	end(err)
	return err
}

func (o *chaosCmd) finish(ctx context.Context, c *console.Console, cfg chaos.Config) error {
	res, err := o.run(ctx, c, cfg)
	if err != nil {
		return console.Ended(ctx, err)
	}
	if err := o.write(res); err != nil {
		return err
	}
	return o.print(c, res)
}

// runSystems disturbs systems behind adapters.
func (o *chaosCmd) runSystems(c *console.Console) error {
	if o.Soak || o.Rate != "" || o.Input != nil || o.Server != "any" || o.Hosts != "none" || o.Every != 0 || o.Instances != 0 || o.LimitConcurrency != 0 || o.LimitRate != "" || o.Priorities != 0 || o.Fair {
		return console.Refuse(errors.New("--systems: --soak, --rate, --limit-concurrency, --limit-rate, --priorities, --fair, --every, --instances, --input, --server and --hosts are for --backend; leave them out"))
	}
	run := systems.Chaos{
		Systems: o.Systems, Settings: o.Setting, Scenarios: o.Scenarios, Set: o.Set, Faults: o.Faults, Replay: o.Replay, Seed: o.Seed, Duration: o.Duration,
		Shrink: o.Shrink, Processes: o.Engines, Slots: o.Workers, InFlight: o.InFlight, Out: o.Out, JSON: o.JSON(), Find: o.find,
	}
	if o.Exhaustive {
		run.Exhaust = o.MaxDuration
	}
	return run.Run(c)
}

func (o *chaosCmd) estimate() string {
	text := fmt.Sprintf("things go wrong for %s", o.Duration)
	if o.Duration == 0 {
		text = "things go wrong until every kind has happened once"
	}
	if o.Exhaustive {
		text += fmt.Sprintf(", and for up to %s more at every message", o.MaxDuration)
	}
	text += "; then all instances must end, and to begin and to end takes half a minute at most"
	if o.Shrink > 0 {
		text += fmt.Sprintf("; a case that fails is made smaller for up to %s", o.Shrink)
	}
	return text
}

func (o *chaosCmd) run(ctx context.Context, c *console.Console, cfg chaos.Config) (*chaos.Result, error) {
	kase, kinds, err := o.kase()
	if err != nil {
		return nil, err
	}
	leftOut := map[string]string{}
	if o.Replay == "" {
		if leftOut, err = o.plan(ctx, c, &kase, kinds); err != nil {
			return nil, err
		}
	}
	res, err := chaos.Run(ctx, kase, cfg)
	if err != nil {
		return nil, err
	}
	if res.Verdict == chaos.Fail && o.Shrink > 0 {
		res = chaos.Shrink(ctx, res, cfg, o.Shrink)
	}
	res.LeftOut = leftOut
	return res, nil
}

func engineConfig() (chaos.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return chaos.Config{}, fmt.Errorf("finding this program's own file, which the engines' processes run: %w", err)
	}
	return chaos.Config{Command: []string{self, engineCommand}}, nil
}

func (o *chaosCmd) kase() (cases.Case, []fault.Kind, error) {
	if o.Shrink < 0 || o.Duration < 0 || o.Exhaustive && !o.whole && o.MaxDuration <= 0 {
		return cases.Case{}, nil, errors.New("--duration, --max-duration and --shrink must not be negative")
	}
	if o.Replay != "" {
		kase, err := cases.Load(o.Replay)
		return kase, nil, err
	}
	kinds, err := fault.Select(o.Faults)
	if err != nil {
		return cases.Case{}, nil, fmt.Errorf("--faults: %w", err)
	}
	if o.Exhaustive && o.Soak {
		return cases.Case{}, nil, errors.New("--exhaustive with --soak: going to every message would be a load of its own; choose one")
	}
	messages := time.Duration(-1) * time.Millisecond
	if o.Exhaustive {
		messages = o.MaxDuration
		for _, k := range fault.Every() {
			if !slices.ContainsFunc(kinds, func(other fault.Kind) bool { return other.Name == k.Name }) {
				kinds = append(kinds, k)
			}
		}
	}
	if o.Soak {
		o.Rate = cmp.Or(o.Rate, "60%")
		o.Every = cmp.Or(o.Every, soakEvery)
	}
	kase := cases.Case{
		Backend: o.Backend, Seed: o.Seed, Engines: o.Engines, InFlight: o.InFlight, Cancel: o.Cancel, Slots: o.Workers,
		EveryMS: int(o.Every.Milliseconds()), MessagesMS: int(messages.Milliseconds()), Instances: o.Instances,
		LimitConcurrency: o.LimitConcurrency, LimitRate: o.LimitRate, Priorities: o.Priorities, Fair: o.Fair,
		LeaseMS: int(o.Lease.Milliseconds()), CallMS: int(o.Lease.Milliseconds()), SweepMS: int(o.Lease.Milliseconds() / 4),
	}
	if o.Server == cases.ServerDocker || slices.ContainsFunc(o.Faults, func(word string) bool { return strings.HasPrefix(word, "container") }) {
		kase.Server = cases.ServerDocker
	}
	if o.Hosts == cases.HostsDocker || slices.ContainsFunc(o.Faults, func(word string) bool { return strings.HasPrefix(word, "host") }) {
		kase.Hosts = cases.HostsDocker
	}
	if kase.Soak = o.Soak; o.Soak {
		kase.LastMS = int(o.Duration.Milliseconds())
	}
	if !o.whole && !o.Soak {
		kase.WithinMS = int(o.Duration.Milliseconds())
	}
	if kase.RatePerS, kase.KneeShare, err = rate(o.Rate); err != nil {
		return kase, nil, err
	}
	if o.InFlight < 0 || o.Every < 0 || o.Instances < 0 {
		return kase, nil, errors.New("--in-flight, --every and --instances must not be negative")
	}
	for name, n := range map[string]int{"engines": o.Engines, "workers": o.Workers, "lease": int(o.Lease.Milliseconds())} {
		if n < 1 {
			return kase, nil, fmt.Errorf("--%s must be positive", name)
		}
	}
	if kase.InFlight == 0 && o.Rate != "" {
		kase.InFlight = inFlightPaced
	}
	kase = kase.WithDefaults()
	if kase.Workloads, err = o.workloads(); err != nil {
		return kase, nil, err
	}
	return kase, kinds, kase.Validate()
}

const soakEvery = 10 * time.Second

// inFlightPaced bounds the instances in flight at a given rate, which should not reach it.
const inFlightPaced = 400

// rate parses instances per second, or a share of the highest rate; both are zero for an empty text.
func rate(text string) (perS, share float64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	number, isShare := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || !(n > 0):
		return 0, 0, fmt.Errorf("--rate %q: write instances per second, as in 50, or a share of the highest rate, as in 60%%", text)
	case isShare && n > 100:
		return 0, 0, fmt.Errorf("--rate %q: more than the highest rate; write 100%% at most", text)
	case isShare:
		return 0, n / 100, nil
	}
	return n, 0, nil
}

// workloads parses NAME or NAME=SIZE, where NAME may be a file's. The case contains the files' text.
func (o *chaosCmd) workloads() ([]cases.Workload, error) {
	words, setting := o.Scenarios, o.Set
	if len(words) == 0 {
		words = []string{"fanout", "chain", "loop", "spread", "retry_in_spread"}
	}
	set, err := scenarios.ParseSet(setting)
	if err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	taken := map[string]bool{}
	var out []cases.Workload
	for _, word := range words {
		if p := o.programs[word]; p != nil {
			out = append(out, cases.Workload{Scenario: word, Program: p})
			continue
		}
		name, size, sized, err := scenarios.ParseName(word)
		if err != nil {
			return nil, err
		}
		if sized && size < 1 {
			return nil, fmt.Errorf("scenario %q: %d is no size here; write a whole number from 1 on, as in fanout=10", word, size)
		}
		w := cases.Workload{Scenario: name, Size: size}
		if s, err := o.find(name); err == nil {
			w.Scenario, w.Bundle = s.Name, s.Bundle()
			for parameter, value := range set {
				if s.HasParameter(parameter) {
					taken[parameter] = true
					w.Set = with(w.Set, parameter, value)
				}
			}
		} else if mistakes, mistaken := err.(yamlfile.Mistakes); mistaken {
			return nil, mistakes
		} else if _, shipped := scenarios.Source(name); shipped != nil {
			return nil, err // neither a scenario nor a program that ships
		}
		out = append(out, w)
	}
	for parameter := range set {
		if !taken[parameter] {
			return nil, fmt.Errorf("--set %s: none of the scenarios has such a parameter", parameter)
		}
	}
	return out, nil
}

func (o *chaosCmd) find(name string) (scenarios.Scenario, error) {
	if scenarios.IsProgram(name) {
		return scenarios.OfProgram(name, o.input)
	}
	return scenarios.Find(name)
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// plan draws faults of the kinds that this machine allows. leftOut has the reasons for the others.
func (o *chaosCmd) plan(ctx context.Context, c *console.Console, kase *cases.Case, kinds []fault.Kind) (leftOut map[string]string, err error) {
	leftOut, err = world.Lacking(ctx, *kase, kinds, func(string) {})
	if err != nil {
		return nil, err
	}
	var have []fault.Kind
	for _, k := range kinds {
		if why := leftOut[k.Name]; why != "" {
			c.Say("%s is left out: %s", k.Name, why)
			continue
		}
		have = append(have, k)
	}
	if len(have) == 0 && len(kinds) > 0 {
		return nil, errors.New("--faults: this machine can have none of them")
	}
	if kase.Faults = kase.Plan(have, o.Duration); o.Soak {
		kase.Faults = kase.SoakPlan(have, o.Duration)
	}
	return leftOut, nil
}

func (o *chaosCmd) write(res *chaos.Result) error {
	kase := res.Case
	kase.Why = fmt.Sprintf("%s %s", res.Verdict, strings.Join(res.Invariants(), " "))
	file := filepath.Join(o.Out, "case.json")
	if err := kase.Save(file); err != nil {
		return err
	}
	res.Repeat = "pulley chaos --replay " + file
	text, err := res.JSON()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Out, "result.json"), text, 0o644); err != nil {
		return err
	}
	shown := res.Record()
	shown.Tool = measure.Tool("pulley")
	if err := record.WriteChaos(o.Out, shown); err != nil {
		return err
	}
	if _, err := reports.Write("chaos", o.Out); err != nil {
		return err
	}
	return record.WriteFile(filepath.Join(o.Out, "history.ndjson"), func(w io.Writer) error { return oracle.WriteHistory(w, res.History) })
}

func (o *chaosCmd) print(c *console.Console, res *chaos.Result) error {
	var b bytes.Buffer
	if o.Format == "json" {
		text, err := res.JSON()
		if err != nil {
			return err
		}
		b.Write(text)
	} else {
		b.WriteString(res.Text())
	}
	if err := c.Print(b.String()); err != nil {
		return err
	}
	c.Say("report: %s", filepath.Join(o.Out, record.ReportFile))
	switch res.Verdict {
	case chaos.Pass:
		return nil
	case chaos.Fail:
		return &console.Status{Code: console.ExitFailed}
	}
	return &console.Status{Code: console.ExitInconclusive}
}

type chaosEngineCmd struct{}

func (chaosEngineCmd) Run(c *console.Console) error {
	return process.Engine(context.Background(), c.In, c.Out, process.Hooks{Workers: startChaosWorkers})
}
