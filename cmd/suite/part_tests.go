package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"pulley/internal/depth"
)

// testTimeout bounds one package's tests: it only ends what hangs.
const testTimeout = 30 * time.Minute

func runReading(ctx context.Context, n *night, _ time.Time, o *outcome) error {
	for _, s := range n.readingSteps() {
		if err := s.do(ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			o.Fail(problem{What: s.name, Again: "make check", Output: err.Error()})
			continue
		}
		o.Add("steps passed", 1)
	}
	return nil
}

// runModules builds and vets the modules within this one: what a change breaks there is seen by nothing else. They need other
// people's systems, some of which take minutes to compile.
func runModules(ctx context.Context, n *night, _ time.Time, o *outcome) error {
	folders, err := n.nestedModules(ctx)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		begun := time.Now()
		for _, args := range [][]string{{"go", "build", "-o", os.DevNull, "./..."}, {"go", "vet", "./..."}} {
			var out bytes.Buffer
			c := command{args: args, dir: folder, out: &out}
			err := n.run(ctx, c)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				o.Fail(problem{What: c.String(), Again: c.String(), Output: out.String() + err.Error()})
				break
			}
		}
		o.Add("modules", 1)
		o.Notes = append(o.Notes, time.Since(begun).Round(time.Second).String()+" "+folder)
	}
	return nil
}

// nestedModules lists the folders of the modules within this one.
func (p *workdir) nestedModules(ctx context.Context) ([]string, error) {
	files, err := p.files(ctx, "*/go.mod")
	if err != nil {
		return nil, err
	}
	folders := make([]string, len(files))
	for i, file := range files {
		folders[i] = path.Dir(file)
	}
	slices.Sort(folders)
	return folders, nil
}

// runTests runs every test as before a change, and compares each package's time with its budget.
func runTests(ctx context.Context, n *night, _ time.Time, o *outcome) error {
	c := testCmd{Timeout: testTimeout, Out: n.file("tests")}
	t, err := c.run(ctx, n.workdir, nil)
	if err != nil {
		return err
	}
	countTests(o, t)
	for _, line := range overBudget(t.Packages) {
		o.Fail(problem{What: line, Again: "make test"})
	}
	for _, r := range slowest(t.Packages, mostListed) {
		o.Notes = append(o.Notes, fmt.Sprintf("%.1f s %s", r.Seconds, r.name()))
	}
	return nil
}

func countTests(o *outcome, t *tally) {
	o.Add("packages", int64(len(t.Packages)))
	for _, r := range t.Tests {
		o.Add(map[string]string{passed: "tests passed", failed: "tests failed", skipped: "tests left out"}[r.Action], 1)
	}
	for _, r := range t.failures() {
		o.Fail(problem{What: r.name(), Again: repeat(r), Output: r.Output})
	}
}

// runDeepTests runs deep tests while there is time, first of the packages that have waited longest. A package that takes longer
// than the remaining time waits for another night.
func runDeepTests(ctx context.Context, n *night, until time.Time, o *outcome) error {
	packages, err := n.listPackages(ctx, nil)
	if err != nil {
		return err
	}
	slices.SortStableFunc(packages, func(a, b string) int { return cmp.Compare(n.state.Last[short(a)], n.state.Last[short(b)]) })
	return n.withServer(ctx, func(env map[string]string) error {
		deep := withVariable(env, depth.Variable, "night")
		for _, name := range packages {
			left := time.Until(until)
			if left < time.Minute {
				break
			}
			if known := n.state.Seconds[short(name)]; known > left.Seconds() {
				continue
			}
			if err := n.testDeep(ctx, name, left, deep, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// testDeep runs the deep tests of one package. If the time is too short, the next night expects them to take longer.
func (n *night) testDeep(ctx context.Context, name string, left time.Duration, env map[string]string, o *outcome) error {
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	begun := time.Now()
	t, err := n.test(limited, tests{packages: []string{name}, race: true, atOnce: 1, timeout: left + testTimeout, env: env, record: n.file("deep", fileName(short(name))+".json")})
	if ctx.Err() == nil && limited.Err() != nil {
		n.state.Seconds[short(name)] = max(n.state.Seconds[short(name)], 1.5*time.Since(begun).Seconds())
		o.Notes = append(o.Notes, fmt.Sprintf("%s: not done within %v; it is tried again when there is more time", short(name), left.Round(time.Second)))
		o.Add("packages that did not end in time", 1)
		return nil
	}
	if err != nil {
		return err
	}
	n.state.Seconds[short(name)], n.state.Last[short(name)] = time.Since(begun).Seconds(), time.Now().UTC().Format(time.RFC3339)
	countTests(o, t)
	for i := range o.Problems {
		if again := o.Problems[i].Again; strings.HasPrefix(again, "go test") {
			o.Problems[i].Again = depth.Variable + "=night " + again
		}
	}
	return nil
}

func slowest(list []result, most int) []result {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b result) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list[:min(most, len(list))]
}

// budgets are percentages of the time of all packages together, since a share is the same on every machine: about one and a
// half times what a package takes. Other packages may take [smallBudget].
var budgets = map[string]float64{
	"cmd/pulley": 24, "chaos": 20, "engine/backend/postgres/pull": 18, "sim/explore/search": 12, "sim/pgsim/pull": 6, "sim/pgsim/journal": 6, "bench": 16, "engine": 12,
	"engine/backend/postgres/push": 14, "engine/backend/postgres/eager": 10, "engine/backend/postgres/journal": 10, "engine/pgserver": 11,
	"engine/backend/differ": 5, "bench/ceiling": 5, "reports": 7,
}

const smallBudget = 4

func overBudget(packages []result) []string {
	var sum float64
	for _, r := range packages {
		sum += r.Seconds
	}
	var lines []string
	for _, r := range packages {
		budget, ok := budgets[short(r.Package)]
		if !ok {
			budget = smallBudget
		}
		if share := 100 * r.Seconds / sum; share > budget && sum > 0 {
			lines = append(lines, fmt.Sprintf("%s took %.1f s, %.1f %% of the time of all packages; its budget is %.0f %%", r.name(), r.Seconds, share, budget))
		}
	}
	return lines
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
