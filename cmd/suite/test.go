package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

type testCmd struct {
	Packages []string      `arg:"" optional:"" help:"Patterns of packages. Default: ./..."`
	AtOnce   int           `help:"Packages at a time, of those with the race detector and of the others. Default: one and a half for each processor, since tests also wait."`
	Timeout  time.Duration `default:"60m" help:"How long one package may take: a bound of what hangs, no measure. Default: 60m."`
	Flags    string        `help:"More for go test, such as '-cover' or '-run TestX'."`
	Out      string        `default:"out/test" help:"Where the events and the times are kept. Default: out/test."`

	built *built // nil: go test compiles
}

func (o *testCmd) Run(ctx context.Context) error {
	return within(func(p *workdir) error {
		t, err := o.run(ctx, p, func(r result) { printPackage(os.Stdout, r) })
		if err != nil {
			return err
		}
		printSummary(os.Stdout, t)
		if !t.green() {
			return errFailed
		}
		return nil
	})
}

// packagesAtOnce is one and a half per processor, since tests also wait.
func packagesAtOnce() int { return (3*processors() + 1) / 2 }

func (o *testCmd) run(ctx context.Context, p *workdir, told func(result)) (*tally, error) {
	packages, err := p.listPackages(ctx, o.Packages)
	if err != nil {
		return nil, err
	}
	end, err := p.beginImage(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	atOnce := o.AtOnce
	if atOnce < 1 {
		atOnce = packagesAtOnce()
	}
	all := tests{race: true, atOnce: atOnce, timeout: o.Timeout, flags: strings.Fields(o.Flags), built: o.built}
	all.packages, all.record = longestFirst(packages, readSeconds(timesFile)), o.Out+"/events.json"
	var mu sync.Mutex
	if told != nil {
		all.printed = func(r result) {
			mu.Lock()
			defer mu.Unlock()
			told(r)
		}
	}
	var t *tally
	before := spentByChildren()
	err = p.withServer(ctx, func(env map[string]string) error {
		all.env = env
		t, err = p.testSplit(ctx, all)
		return err
	})
	if err != nil {
		return t, err
	}
	t.CPU = (spentByChildren() - before).Seconds()
	if err := writeSeconds(timesFile, t); err != nil {
		return t, fmt.Errorf("keeping the times of packages: %w", err)
	}
	return t, nil
}

// singles are tested without the race detector, which takes five times as long. They have no concurrent goroutines, or are tested
// under the detector elsewhere: the code that commandPackage calls, in its separate processes, and all of them in the night.
var singles = []string{
	"adapter/check", "adapter/judge", "adapter/mutants", "adapter/named", "adapter/protocol", "adapter/trial", "adapter/workload",
	"bench/capacity", "bench/changepoint", "bench/claim", "bench/gate", "bench/gate/pairs", "bench/gobench", "bench/histogram", "bench/history", "bench/knee",
	"bench/load", "bench/outline", "bench/profile", "bench/stages", "bench/stats", "bench/usl",
	"chaos", "chaos/cases", "chaos/fault/inject", "chaos/mutants", "chaos/recovery",
	commandPackage, commandPackage + "/benchmarks", commandPackage + "/console", commandPackage + "/systems",
	"engine/backend", "engine/backend/designs", "engine/backend/postgres", "engine/backend/postgres/journal/internal/forward",
	"engine/backend/postgres/journal/internal/ownership", "engine/backend/state", "engine/dispatch", "engine/graph", "engine/ir", "engine/ir/programs", "engine/limit", "engine/metrics",
	"engine/plan", "engine/plan/model", "engine/reference", "engine/schedule", "engine/schedule/model", "engine/schedule/turn", "engine/worker/protocol",
	"examples/adapters/queue",
	"internal/browsertest", "internal/bytesize", "internal/depth", "internal/limitstore", "internal/lines", "internal/nearest", "internal/pause", "internal/pgimage", "internal/procenv",
	"internal/procstatus", "internal/schedulestore", "internal/watchdog", "internal/yamlfile",
	"python",
	"reports", "reports/changes", "reports/chart", "reports/diagram", "reports/page", "reports/record", "reports/serve", "reports/units", "reports/verdicts",
	"scenarios", "scenarios/arrivals", "scenarios/behaviour", "scenarios/dist", "scenarios/generate", "scenarios/template", "scenarios/wfformat",
	"sim", "sim/cases", "sim/db", "sim/explore", "sim/explore/search", "sim/gantt", "sim/internal/fingerprint", "sim/internal/shadow", "sim/judge", "sim/lines",
	"sim/pgsim", "sim/pgsim/eager", "sim/pgsim/journal", "sim/pgsim/pull", "sim/pgsim/push", "sim/world",
}

// commandPackage is the command. Its tests call it, and start it as a process.
const commandPackage = "cmd/pulley"

const commandVariable = "PULLEY_TEST_COMMAND"

func (p *workdir) buildCommand(ctx context.Context) (string, error) {
	file := filepath.Join(p.dir, "pulley")
	return file, p.goBuild(ctx, "build", "-race", "-o", file, "./"+commandPackage)
}

func splitSingles(packages []string) (with, without []string) {
	for _, name := range packages {
		if slices.Contains(singles, short(name)) {
			without = append(without, name)
		} else {
			with = append(with, name)
		}
	}
	return with, without
}

func hasCommand(packages []string) bool {
	return slices.ContainsFunc(packages, func(name string) bool { return short(name) == commandPackage })
}

// testSplit tests singles without the race detector, and concurrently the other packages with it.
func (p *workdir) testSplit(ctx context.Context, all tests) (*tally, error) {
	with, without := all, all
	with.packages, without.packages = splitSingles(all.packages)
	if hasCommand(without.packages) {
		file, err := all.built.commandFile(ctx, p) // before the tests, so that what both need is compiled once
		if err != nil {
			return newTally(nil), err
		}
		without.env = withVariable(all.env, commandVariable, file)
	}
	without.race, without.record = false, strings.TrimSuffix(all.record, ".json")+"-single.json"
	begun := time.Now()
	var tallies [2]*tally
	var group errgroup.Group
	for i, t := range []tests{with, without} {
		group.Go(func() (err error) {
			tallies[i] = newTally(nil)
			if len(t.packages) > 0 {
				tallies[i], err = p.test(ctx, t)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return tallies[0], err
	}
	t := tallies[0]
	t.merge(tallies[1])
	t.Wall = time.Since(begun).Seconds()
	return t, nil
}
