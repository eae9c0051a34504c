package benchmarks

import (
	"context"
	"fmt"
	"math"
	"time"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/bench/systems"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/scenarios"
)

// testbedFlags are the flags of bench and knee for the system under load.
type testbedFlags struct {
	Scenario string `arg:"" help:"What to run: a scenario (pulley list scenarios names them), with =SIZE for another size than its smallest, a scenario's FILE.yaml, or a program, FILE.ir."`
	console.ServerFlags
	console.InputFlag
	console.SetFlag
	console.TimeScaleFlag `set:"scale=0.0001"`
	console.SeedFlag      `set:"drawn=what arrivals and scenarios draw"`
	Workers               int      `placeholder:"N" help:"Actions that an engine runs at once. Default: what the scenario says, else 2000."`
	Engines               int      `placeholder:"N" help:"Engines on the store. Default: what the scenario says, else 1."`
	InFlight              int      `placeholder:"N" help:"So many instances may be open at once; those due beyond are dropped, and counted. Default: 5000, fewer if they are large."`
	Trace                 []string `sep:"none" placeholder:"FILE" help:"A trace in WfFormat for the scenario trace."`
	Others                string   `default:"10%" placeholder:"SHARE" help:"How much of the machine's processors other programs may use before a run is invalid. Default: 10%."`
}

func (o *testbedFlags) find(c *console.Console) (k bench.Case, limits load.Limits, err error) {
	if err := checkTimeScale(o.TimeScale); err != nil {
		return k, limits, err
	}
	if limits.OthersShare, err = console.ParseShare(o.Others); err != nil {
		return k, limits, fmt.Errorf("--others %s: %w", o.Others, err)
	}
	input, err := o.InputOf(c, o.Scenario)
	if err != nil {
		return k, limits, err
	}
	cases, err := bench.Cases(bench.CaseOptions{
		Input:     input,
		Scenarios: []string{o.Scenario}, Traces: o.Trace, Set: o.Set, Options: scenarios.Options{TimeScale: o.TimeScale, Seed: o.Seed},
	})
	if err != nil {
		return k, limits, err
	}
	return cases[0], limits, nil
}

func (o *testbedFlags) testbed(k bench.Case, backend designs.Spec) bench.TestbedSpec {
	return bench.TestbedSpec{Case: k, Backend: backend, Workers: o.Workers, Engines: o.Engines, InFlight: o.InFlight}
}

func (o *testbedFlags) testbedOf(k bench.Case, system *systems.System) bench.TestbedSpec {
	return bench.TestbedSpec{Case: k, System: system, Seed: o.Seed, Workers: o.Workers, Engines: o.Engines, InFlight: o.InFlight}
}

// tuneRun is the length of a run of a search, about.
const tuneRun = 2 * time.Second

// tune finds what makes a system behind an adapter fastest, unless the user wants none of that.
func (o *systemsFlags) tune(ctx context.Context, c *console.Console, spec bench.TestbedSpec) (bench.TestbedSpec, error) {
	if spec.System == nil || o.NoTune {
		return spec, nil
	}
	c.Say("%s on %s: a search for the slots and settings with which it is fastest", spec.Case, spec.Name())
	tuned, err := bench.Tune(ctx, spec, tuneRun, nil)
	if err != nil {
		return spec, err
	}
	for _, choice := range tuned.RecordSystem().Chosen {
		c.Say("%s: %d slots, %v: %.0f nodes/s, the fastest of %d", spec.Name(), choice.Slots, choice.Settings, choice.NodesPerS, choice.Tried)
	}
	return tuned, nil
}

func checkTimeScale(v float64) error {
	if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("--time-scale %v: choose 0 or more", v)
	}
	return nil
}
