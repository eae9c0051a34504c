package benchmarks

import (
	"fmt"
	"math"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/scenarios"
)

// testbedFlags say what is put under load, and on what. pulley bench and pulley knee have them.
type testbedFlags struct {
	Scenario string `arg:"" help:"What to run: ${scenarios}, or a scenario's file, as in orders.yaml; with =SIZE for a size. Default size: the scenario's smallest."`
	console.ServerFlags
	Workers   int      `placeholder:"N" help:"Actions that an engine runs at once. Default: what the scenario says, else 2000."`
	Engines   int      `placeholder:"N" help:"Engines on the store. Default: what the scenario says, else 1."`
	InFlight  int      `placeholder:"N" help:"So many instances may be open at once; those due beyond are dropped, and counted. Default: 5000, fewer if they are large."`
	Set       []string `sep:"none" placeholder:"NAME=VALUE" help:"Give a parameter of the scenario another value; may be repeated."`
	Trace     []string `sep:"none" placeholder:"FILE" help:"A trace in WfFormat for the scenario trace."`
	TimeScale float64  `default:"0.0001" help:"Multiplies the run times of a trace's tasks. Default: 0.0001."`
	Seed      uint64   `default:"1" help:"Of what arrivals and scenarios draw. Default: 1."`
	Others    string   `default:"10%" placeholder:"SHARE" help:"How much of the machine's processors other programs may use before a run is invalid. Default: 10%."`
}

// find gives what is put under load, and what makes a run invalid.
func (o *testbedFlags) find() (k bench.Case, limits load.Limits, err error) {
	if err := checkTimeScale(o.TimeScale); err != nil {
		return k, limits, err
	}
	if limits.OthersShare, err = console.ParseShare(o.Others); err != nil {
		return k, limits, fmt.Errorf("--others %s: %w", o.Others, err)
	}
	cases, err := bench.Cases(bench.CaseOptions{
		Scenarios: []string{o.Scenario}, Traces: o.Trace, Set: o.Set, Options: scenarios.Options{TimeScale: o.TimeScale, Seed: o.Seed},
	})
	if err != nil {
		return k, limits, err
	}
	return cases[0], limits, nil
}

// testbed is where the case runs on a backend.
func (o *testbedFlags) testbed(k bench.Case, backend designs.Spec) bench.TestbedSpec {
	return bench.TestbedSpec{Case: k, Backend: backend, Workers: o.Workers, Engines: o.Engines, InFlight: o.InFlight}
}

// checkTimeScale refuses what run times cannot be multiplied by.
func checkTimeScale(v float64) error {
	if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("--time-scale %v: choose 0 or more", v)
	}
	return nil
}
