package benchmarks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/bench/gate"
	"pulley/bench/gate/pairs"
	"pulley/bench/gobench"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/live"
)

// gateFlags are the default flags of pulley compare for two revisions: short runs of both pushing designs.
var gateFlags = []string{"fanout=100", "chain=10", "--backends", "push,journal", "--run-duration", "200ms"}

// runsOfTurn is the number of runs in a turn. The least disturbed run counts.
const runsOfTurn = 5

type compareTurn struct {
	program string
	flags   []string
	env     []string
}

func flagsOf(flags []string) ([]string, error) {
	out := append([]string{"compare"}, flags...)
	if hasFlag(flags, "out") {
		return nil, errors.New("--out behind -- is not used here; give it before --")
	}
	if hasFlag(flags, "dsn") {
		return nil, errors.New("--dsn behind -- is not used here; give it before --")
	}
	if !hasFlag(flags, "runs") {
		out = append(out, fmt.Sprintf("--runs=%d", runsOfTurn))
	}
	if !hasFlag(flags, "no-ceiling") && !hasFlag(flags, "ceiling-duration") {
		out = append(out, "--no-ceiling")
	}
	return out, nil
}

func hasFlag(flags []string, name string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return f == "--"+name || strings.HasPrefix(f, "--"+name+"=") })
}

func needsPostgres(flags []string) bool {
	for i, f := range flags {
		list, ok := strings.CutPrefix(f, "--backends=")
		if f == "--backends" && i+1 < len(flags) {
			list, ok = flags[i+1], true
		}
		if !ok {
			continue
		}
		specs, err := designs.ParseAll(strings.Split(list, ","))
		return err != nil || slices.ContainsFunc(specs, designs.Spec.NeedsPostgres)
	}
	return true
}

func (t compareTurn) run(ctx context.Context, dir string) (gate.Run, error) {
	args := append(append([]string{t.program}, t.flags...), "--out", dir)
	if _, err := (pairs.Command{Args: args, Env: t.env, Accept: []int{console.ExitFailed}}).Run(ctx); err != nil {
		return gate.Run{}, err
	}
	runs, err := gate.ReadRuns(dir)
	if err != nil {
		return gate.Run{}, err
	}
	return runs[0], nil
}

// spell adapts flags to the turn's program: in an old baseline, --run-duration is --run-time.
func (t *compareTurn) spell(ctx context.Context) error {
	help, err := pairs.Command{Args: []string{t.program, "compare", "--help"}}.Run(ctx)
	if err != nil || bytes.Contains(help, []byte("--run-duration")) {
		return err
	}
	t.flags = slices.Clone(t.flags)
	for i, f := range t.flags {
		if rest, is := strings.CutPrefix(f, "--run-duration"); is {
			t.flags[i] = "--run-time" + rest
		}
	}
	return nil
}

func (o *GateCmd) revisions(ctx context.Context, c *console.Console, opts gate.Options) (_ *gate.Report, err error) {
	opts.Paired, o.until = true, pairs.UntilAfter(o.MaxDuration)
	repository, err := pairs.FindRepository(ctx, ".")
	if err != nil {
		return nil, err
	}
	var commits [2]string
	for i := range commits {
		if commits[i], err = repository.Resolve(ctx, o.words[i]); err != nil {
			return nil, err
		}
	}
	flags := gateFlags
	if len(o.words) > 2 {
		flags = o.words[2:]
	}
	flags, err = flagsOf(flags)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "pulley-gate-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	var trees [2]*pairs.Checkout
	for i, name := range []string{"baseline", "candidate"} {
		if trees[i], err = repository.CheckOut(ctx, commits[i], filepath.Join(work, name)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, trees[i].Remove()) }()
	}
	c.Say("order within pairs is drawn from seed %d", o.Seed)
	if o.Bench != "" {
		return o.benchmarks(ctx, c, opts, trees, work)
	}
	return o.compares(ctx, c, opts, trees, flags, work)
}

func (o *GateCmd) keep(work string) string {
	if o.Out != "" {
		return o.Out
	}
	return work
}

func (o *GateCmd) sideName(side pairs.Side) string {
	return []string{"baseline", "candidate"}[side]
}

// compares builds pulley twice. -trimpath keeps the programs equal but for their code, and common packages are built once.
func (o *GateCmd) compares(ctx context.Context, c *console.Console, opts gate.Options, trees [2]*pairs.Checkout, flags []string, work string) (*gate.Report, error) {
	var turns [2]compareTurn
	for i, tree := range trees {
		if _, err := os.Stat(filepath.Join(tree.Root(), "cmd", "pulley")); err != nil {
			return nil, fmt.Errorf("%s has no cmd/pulley; name benchmarks with --bench to gate another module", o.words[i])
		}
		c.Say("building %s", o.words[i])
		o.run.Step(live.Step{What: "building " + o.words[i], Total: float64(o.pairs()), Unit: "pairs"})
		turns[i].program, turns[i].flags = filepath.Join(work, o.sideName(pairs.Side(i))+"-pulley"), flags
		if _, err := (pairs.Command{Dir: tree.Root(), Args: []string{"go", "build", "-trimpath", "-o", turns[i].program, "./cmd/pulley"}}).Run(ctx); err != nil {
			return nil, fmt.Errorf("building %s: %w", o.words[i], err)
		}
	}
	if err := turns[0].spell(ctx); err != nil {
		return nil, err
	}
	env, closing, err := o.serverFor(ctx, c, flags)
	if err != nil {
		return nil, err
	}
	defer closing()
	turns[0].env, turns[1].env = env, env
	before, after, err := o.alternateRuns(ctx, c, turns, o.keep(work), o.Seed, true)
	if err != nil {
		return nil, err
	}
	a, b := gate.FromPairs(o.words[0], o.words[1], before, after)
	return gate.Judge(a, b, opts)
}

func (o *GateCmd) alternateRuns(ctx context.Context, c *console.Console, turns [2]compareTurn, dir string, seed uint64, tell bool) (before, after []gate.Run, err error) {
	began, n := time.Now(), o.pairs()
	var found [2][]gate.Run
	err = pairs.Run(ctx, n, seed, o.until, func(ctx context.Context, side pairs.Side, pair int) error {
		r, err := turns[side].run(ctx, filepath.Join(dir, o.sideName(side), fmt.Sprintf("%03d", pair+1)))
		if err != nil {
			return err
		}
		found[side] = append(found[side], r)
		if tell && len(found[0]) == len(found[1]) {
			o.pairDone(pair, n, time.Since(began))
		}
		return nil
	})
	return found[0], found[1], err
}

func (o *GateCmd) pairDone(pair, n int, took time.Duration) {
	left := took / time.Duration(pair+1) * time.Duration(n-pair-1)
	o.run.Note("[%d/%d] pairs, about %v left", pair+1, n, left.Round(time.Second))
	o.run.Step(live.Step{What: strings.Join(o.words[:2], " and "), Done: float64(pair + 1), Total: float64(n), Unit: "pairs"})
}

func (o *GateCmd) benchmarks(ctx context.Context, c *console.Console, opts gate.Options, trees [2]*pairs.Checkout, work string) (*gate.Report, error) {
	var programs [2][]testProgram
	for i, tree := range trees {
		c.Say("building the tests of %s", o.words[i])
		o.run.Step(live.Step{What: "building the tests of " + o.words[i], Total: float64(o.pairs()), Unit: "pairs"})
		built, err := o.buildTests(ctx, tree, filepath.Join(work, o.sideName(pairs.Side(i))+"-tests"))
		if err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w", o.words[i], err)
		}
		programs[i] = built
	}
	began, n := time.Now(), o.pairs()
	var found [2][]*gobench.File
	err := pairs.Run(ctx, n, o.Seed, o.until, func(ctx context.Context, side pairs.Side, pair int) error {
		f, err := o.benchTurn(ctx, programs[side], filepath.Join(o.keep(work), o.sideName(side), fmt.Sprintf("%03d.txt", pair+1)))
		if err != nil {
			return err
		}
		found[side] = append(found[side], f)
		if len(found[0]) == 1 && len(found[1]) == 1 && len(found[0][0].Series)+len(found[1][0].Series) == 0 {
			return fmt.Errorf("no benchmark of either revision matches --bench %s", o.Bench)
		}
		if len(found[0]) == len(found[1]) {
			o.pairDone(pair, n, time.Since(began))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a, b := gate.FromBenchmarkPairs(o.words[0], o.words[1], found[0], found[1])
	return gate.Judge(a, b, opts)
}

type testProgram struct{ program, dir string }

func (o *GateCmd) buildTests(ctx context.Context, tree *pairs.Checkout, into string) ([]testProgram, error) {
	pattern := cmp.Or(o.Package, ".")
	if err := os.MkdirAll(into, 0o777); err != nil {
		return nil, err
	}
	list, err := pairs.Command{Dir: tree.Dir, Args: []string{"go", "list", "-f", "{{.Dir}}\t{{len .TestGoFiles}}\t{{len .XTestGoFiles}}", pattern}}.Run(ctx)
	if err != nil {
		return nil, err
	}
	var out []testProgram
	for line := range strings.Lines(string(list)) {
		dir, files, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if files == "0\t0" {
			continue
		}
		program := filepath.Join(into, fmt.Sprintf("%03d.test", len(out)))
		if _, err := (pairs.Command{Dir: dir, Args: []string{"go", "test", "-c", "-trimpath", "-o", program, "."}}).Run(ctx); err != nil {
			return nil, err
		}
		out = append(out, testProgram{program, dir})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--package %s: it has no tests", pattern)
	}
	return out, nil
}

func (o *GateCmd) benchTurn(ctx context.Context, programs []testProgram, path string) (*gobench.File, error) {
	var all bytes.Buffer
	for _, p := range programs {
		out, err := pairs.Command{Dir: p.dir, Args: []string{
			p.program, "-test.run=^$", "-test.bench=" + o.Bench, "-test.benchmem", "-test.benchtime=" + o.Benchtime, fmt.Sprintf("-test.count=%d", runsOfTurn),
		}}.Run(ctx)
		if err != nil {
			return nil, err
		}
		all.Write(out)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, all.Bytes(), 0o666); err != nil {
		return nil, err
	}
	if !bytes.Contains(all.Bytes(), []byte("\nBenchmark")) {
		return &gobench.File{}, nil // nothing matched: the other side may match
	}
	return gobench.Read(&all, path)
}
