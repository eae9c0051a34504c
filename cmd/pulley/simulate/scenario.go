package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

func (o *ForecastCmd) scenario(cfg *sim.Config) (string, error) {
	s, size, err := o.named()
	if err != nil {
		return "", err
	}
	if o.Arrivals == "" && s.Arrivals != "" {
		o.Arrivals, cfg.Arrivals = s.Arrivals, &s.Arriving
	}
	if s.Name == traceScenario && s.File() == "" {
		return o.trace(cfg, s, size)
	}
	if cfg.Mix, err = o.mixed(s, size, scenarios.Options{Seed: o.scenarioSeed(s), TimeScale: o.TimeScale}); err != nil {
		return "", err
	}
	o.mix = cfg.Mix
	if s.SizeMin == s.SizeMax {
		return s.Name, nil
	}
	return fmt.Sprintf("%s=%d", cfg.Mix.Name, cfg.Mix.Size), nil
}

// scenarioSeed is the seed of a user's own scenario. Those that ship use 0.
func (o *ForecastCmd) scenarioSeed(s scenarios.Scenario) uint64 {
	if s.File() == "" {
		return 0
	}
	return o.Seed
}

const traceScenario = "trace"

// serviceOf is an action's duration: the scenario's, or the recorded one of a trace's task. Nil: none.
func serviceOf(w *scenarios.Workload, action string) sim.Service {
	if law := w.Calls().Service(action); law != nil {
		return sim.Each(law.Times())
	}
	if action == wfformat.ActionTask && w.Bundle != nil {
		return sim.Recorded
	}
	return nil
}

func (o *ForecastCmd) described() bool {
	if o.mix == nil {
		return false
	}
	return slices.ContainsFunc(o.mix.Workloads, func(w scenarios.Workload) bool {
		return slices.ContainsFunc(w.Actions, func(action string) bool { return serviceOf(&w, action) != nil })
	})
}

func (o *ForecastCmd) describe() []string {
	var list []string
	for i := range o.mix.Workloads {
		w := &o.mix.Workloads[i]
		for _, action := range w.Actions {
			text := ""
			if law := w.Calls().Service(action); law != nil {
				text = action + "=" + law.String()
			} else if serviceOf(w, action) != nil {
				text = action + "=trace"
			}
			if text != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// ownServices uses the flag for the action, else for all actions, else the scenario; otherwise an action takes no time.
func (o *ForecastCmd) ownServices(seed uint64, one map[string]sim.Distribution, all sim.Distribution) sim.Service {
	of := map[*graph.Graph]*scenarios.Workload{}
	for i := range o.mix.Workloads {
		of[o.mix.Workloads[i].Graph] = &o.mix.Workloads[i]
	}
	choose := func(task backend.Task) sim.Service {
		switch {
		case one[task.Action] != nil:
			return sim.Each(one[task.Action])
		case all != nil:
			return sim.Each(all)
		}
		return serviceOf(of[task.Program.Graph()], task.Action)
	}
	return sim.KeyedBy(seed, func(r *rand.Rand, task backend.Task) (time.Duration, error) {
		if service := choose(task); service != nil {
			return service(r, task)
		}
		return 0, nil
	})
}

// arrivals parses --arrivals: a rate of random arrivals, a distribution of the interval, or a process.
func (o *ForecastCmd) arrivals(cfg *sim.Config) error {
	if o.Arrivals == "" {
		return nil
	}
	text := o.Arrivals
	if !strings.Contains(text, ":") && strings.Contains(text, "/") {
		text = "poisson:" + text
	}
	law, err := dist.Parse(text, dist.Durations, o.recorded)
	if err == nil {
		cfg.Between = law.Times()
		return nil
	}
	process, wrong := arrivals.Parse(text, arrivals.ReadTraceFile)
	kind, _, _ := strings.Cut(text, ":")
	switch {
	case wrong == nil:
		cfg.Arrivals = &process
		return nil
	case dist.Known(kind):
		return fmt.Errorf("--arrivals %w, or a rate such as 50/s", err)
	}
	return fmt.Errorf("--%w; or give a rate such as 50/s, or the distribution of the time from one to the next, as in exp:20ms", wrong)
}

// instances is the default number of instances: each workload once, or enough to see how they wait.
func (o *ForecastCmd) instances(cfg *sim.Config) int {
	switch {
	case cfg.Between != nil || cfg.Arrivals != nil:
		if cfg.Arrivals != nil && cfg.Arrivals.Open() {
			return arriving(cfg.Arrivals, instancesPaced)
		}
		return instancesPaced
	case cfg.Mix != nil:
		return min(len(cfg.Mix.Order), instancesPaced)
	}
	return 1
}

const instancesPaced = 1000

// arriving is the number of instances of a process, up to most: a trace may have fewer.
func arriving(a *arrivals.Arrivals, most int) int {
	sequence := a.Start(rand.New(rand.NewPCG(1, 1)))
	for n := range most {
		if _, ok := sequence.Next(); !ok {
			return max(n, 1)
		}
	}
	return most
}
