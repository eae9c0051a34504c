package profile

import (
	"slices"
	"strings"
)

// Stage is what processor time is spent on.
type Stage string

// The stages, in the order of a node run, and the rest.
const (
	Store       Stage = "store"
	Driver      Stage = "driver"
	Planning    Stage = "planning"
	Expressions Stage = "expressions"
	Dispatch    Stage = "dispatch"
	Workers     Stage = "workers"
	Actions     Stage = "actions"
	Harness     Stage = "harness"
	Collection  Stage = "garbage collection"
	Runtime     Stage = "runtime"
)

type kind struct {
	stage    Stage
	text     string
	packages []string // a trailing slash includes all below
}

// The first of kinds with a function's package counts.
var kinds = []kind{
	{Store, "the design's own work on completions, claims and submissions", []string{"pulley/engine/backend", "pulley/engine/backend/", "pulley/internal/pgstore", "pulley/internal/journalstore"}},
	{Driver, "the Postgres driver, with what it does on the network", []string{"github.com/jackc/"}},
	{Expressions, "expressions of workflows", []string{"pulley/engine/expr", "go.starlark.net/"}},
	{Planning, "what follows from a completion", []string{"pulley/engine/plan", "pulley/engine/graph", "pulley/engine/ir"}},
	{Dispatch, "the engine's loop and its decisions", []string{"pulley/engine", "pulley/engine/dispatch"}},
	{Workers, "what calls actions", []string{"pulley/engine/worker", "pulley/engine/worker/"}},
	{Actions, "the scenario's actions", []string{"pulley/scenarios", "pulley/scenarios/"}},
	{Harness, "submitting, receiving, and what is noted for the figures", []string{"pulley/bench", "pulley/bench/", "pulley/cmd/", "main"}},
	{Collection, "garbage collection", nil},
	{Runtime, "Go's scheduler, timers and network poller", nil},
}

// Stages returns all stages in order.
func Stages() []Stage {
	all := make([]Stage, len(kinds))
	for i, k := range kinds {
		all[i] = k.stage
	}
	return all
}

// Text describes the stage.
func (s Stage) Text() string {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.stage == s })
	if i < 0 {
		return ""
	}
	return kinds[i].text
}

var collectors = []string{
	"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart", "runtime.gcMarkDone",
	"runtime.gcMarkTermination", "runtime.deductSweepCredit", "runtime.GC",
}

func stageOf(functions []string) Stage {
	for _, f := range functions {
		if slices.Contains(collectors, f) {
			return Collection
		}
	}
	for _, f := range functions {
		if stage, ok := stageOfPackage(packageOf(f)); ok {
			return stage
		}
	}
	return Runtime
}

// packageOf takes the profiler's notation: pulley/engine/backend/postgres/push.(*commit).apply.
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // type arguments may contain slashes
	last := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[last:], ".")
	return function[:last] + name
}

func stageOfPackage(path string) (Stage, bool) {
	for _, k := range kinds {
		for _, p := range k.packages {
			if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
				return k.stage, true
			}
		}
	}
	return "", false
}
