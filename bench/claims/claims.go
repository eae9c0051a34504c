package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/bench/systems"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
)

// Config selects what is measured, and where.
type Config struct {
	DSN string // not empty
	Way string

	Only  []string // names of experiments; nil: all published ones
	Goals bool     // if Only is nil: our own goals instead

	// Peers selects, if Only is nil, what others published about their systems instead.
	Peers bool
	// Systems behind adapters are measured in the shapes of Peers as well, with the slots and settings with which a search finds
	// them to be fastest if Tune. For ratios, push and journal should be among them, under these names.
	Systems []systems.System
	Tune    bool
	Missing map[string]string // why a system is not among Systems although it was asked for, by name
	Asked   []string          // what was said for Systems, for the command that measures again

	Runs  int  // repetitions; zero: 3 of our goals and of quick runs, otherwise 6, which give 95 % intervals. At most 100
	Quick bool // fewer repetitions, smaller sizes
	least bool // with Quick: the smallest sizes that measure anything

	// Fresh measures an experiment in a new process, which memory figures need, and returns its claims; nil: in this process.
	Fresh func(ctx context.Context, experiment string) ([]claim.Claim, error)

	Progress func(line string) // may be nil
	// Began is called before each experiment, with how many ended. May be nil.
	Began func(done, total int, experiment string)
}

type experiment struct {
	name  string
	about string
	goal  bool
	peer  bool // measures Systems, too
	fresh bool // needs its own process
	takes effort
	// for each of the Systems: what a repetition takes, and once the search
	system, search effort
	run            func(ctx context.Context, l *lab) ([]claim.Claim, error)
}

// effort is how long one repetition takes on two current cores, in seconds, with its share of what comes before and after: measured
// with --runs 1.
type effort struct{ quick, full float64 }

// estimate returns how long an experiment takes.
func (c Config) estimate(e experiment) time.Duration {
	of := func(takes effort) float64 {
		if c.Quick {
			return takes.quick
		}
		return takes.full
	}
	repetition, search, n := of(e.takes), 0.0, float64(len(c.Systems))
	repetition += n * of(e.system)
	if c.Tune {
		search = n * of(e.search)
	}
	return time.Duration((float64(c.runs(e))*repetition + search) * float64(time.Second))
}

// Plan returns the number of chosen experiments, and approximately how long they take on two current cores.
func (c Config) Plan() (experiments int, took time.Duration, err error) {
	c.DSN = "any"
	chosen, err := c.chosen()
	for _, e := range chosen {
		took += c.estimate(e)
	}
	return len(chosen), took, err
}

func experiments() []experiment { return slices.Concat(published(), goals(), peers()) }

// Help lists the experiments, one per line.
func Help() string {
	var b strings.Builder
	for _, e := range experiments() {
		kind := "published"
		switch {
		case e.goal:
			kind = "goal"
		case e.peer:
			kind = "peer"
		}
		fmt.Fprintf(&b, "%-12s %-9s %s\n", e.name, kind, e.about)
	}
	return b.String()
}

func (c Config) runs(e experiment) int {
	switch {
	case c.Runs != 0:
		return c.Runs
	case e.goal || c.Quick:
		return 3
	}
	return 6
}

func (c Config) chosen() ([]experiment, error) {
	if c.DSN == "" {
		return nil, errors.New("claims: there is no DSN")
	}
	if c.Runs < 0 || c.Runs > 100 {
		return nil, fmt.Errorf("claims: %d runs; choose from 1 to 100", c.Runs)
	}
	all := experiments()
	for _, name := range c.Only {
		if !slices.ContainsFunc(all, func(e experiment) bool { return e.name == name }) {
			return nil, fmt.Errorf("claims: there is no experiment %q; see the help for those there are", name)
		}
	}
	chosen := slices.DeleteFunc(all, func(e experiment) bool {
		if c.Only != nil {
			return !slices.Contains(c.Only, e.name)
		}
		return e.goal != c.Goals || e.peer != c.Peers
	})
	switch {
	case c.Only == nil && c.Goals && c.Peers:
		return nil, errors.New("claims: our goals and others' figures are not measured together; choose one")
	case len(c.Systems)+len(c.Asked) > 0 && !slices.ContainsFunc(chosen, func(e experiment) bool { return e.peer }):
		return nil, errors.New("claims: systems are measured only where others' figures are; choose some of those, as --peers does")
	}
	return chosen, nil
}

// Check validates the configuration, except for the DSN.
func (c Config) Check() error {
	_, _, err := c.Plan()
	return err
}

// Measure runs the experiments sequentially, and returns what it has in any case. An experiment that fails yields a claim
// without figures. An error means that ctx ended, or that nothing could be measured.
func Measure(ctx context.Context, cfg Config) ([]claim.Claim, error) {
	chosen, err := cfg.chosen()
	if err != nil {
		return nil, err
	}
	var out []claim.Claim
	begun, rest := time.Now(), newCountdown(cfg, chosen)
	for i, e := range chosen {
		l := &lab{cfg: cfg, runs: cfg.runs(e), label: fmt.Sprintf("[%d/%d] %s", i+1, len(chosen), e.name)}
		if cfg.Began != nil {
			cfg.Began(i, len(chosen), e.name)
		}
		l.printf("%s; %s", e.about, rest.remaining(time.Since(begun)))
		found, err := l.perform(ctx, e)
		rest.finish(cfg.estimate(e))
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			found = []claim.Claim{{ID: e.name, Text: e.about, Source: "–", Method: "–", Verdict: claim.Unmeasured, Why: err.Error(), Command: e.command(cfg)}}
		}
		out = append(out, found...)
	}
	return out, nil
}

// command repeats the measurement.
func (e experiment) command(cfg Config) string {
	text := "pulley claims --only " + e.name
	if cfg.Quick {
		text += " --quick"
	}
	for _, asked := range cfg.Asked {
		if e.system.full > 0 {
			text += " --systems " + quoted(asked)
		}
	}
	return text
}

// quoted is an argument as a shell reads it.
func quoted(argument string) string {
	if !strings.ContainsAny(argument, " \t\n'\"\\$&|;<>()*?[]`~#!") {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

type lab struct {
	cfg   Config
	runs  int
	label string
}

func (l *lab) printf(format string, args ...any) {
	if l.cfg.Progress != nil {
		l.cfg.Progress(l.label + ": " + fmt.Sprintf(format, args...))
	}
}

func (l *lab) perform(ctx context.Context, e experiment) ([]claim.Claim, error) {
	if e.fresh && l.cfg.Fresh != nil {
		return l.cfg.Fresh(ctx, e.name)
	}
	found, err := e.run(ctx, l)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Command = e.command(l.cfg)
		found[i] = found[i].Judge()
	}
	return found, nil
}

const leastPart = 5

func (l *lab) pick(quick, full int) int {
	switch {
	case l.cfg.least:
		return max(1, quick/leastPart)
	case l.cfg.Quick:
		return quick
	}
	return full
}

const runTimeout = 3 * time.Minute

func (l *lab) compare(ctx context.Context, scenario string, sizes []int, backends []string, cfg bench.CompareConfig) (*bench.Comparison, error) {
	var specs []designs.Spec
	var err error
	if len(backends) > 0 {
		if specs, err = designs.ParseAll(backends); err != nil {
			return nil, err
		}
	}
	var list []string
	for _, size := range sizes {
		list = append(list, fmt.Sprint(size))
	}
	cases, err := bench.Cases(bench.CaseOptions{Scenarios: []string{scenario}, Sizes: []string{strings.Join(list, ",")}})
	if err != nil {
		return nil, err
	}
	cfg.Cases, cfg.Backends = cases, specs
	cfg.DSN, cfg.Way = l.cfg.DSN, l.cfg.Way
	cfg.Runs = cmp.Or(cfg.Runs, l.runs)
	cfg.RunTimeout = cmp.Or(cfg.RunTimeout, runTimeout)
	cfg.Progress = func(p bench.Progress) {
		if p.Sample != nil {
			l.printf("run %d of %d: %s on %s: %s", p.Done, p.Total, p.Case, p.Backend, outcome(p.Sample))
		}
	}
	found, err := bench.Compare(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if found.Manifest.Interrupted {
		return nil, context.Canceled
	}
	return found, nil
}

func outcome(s *record.Sample) string {
	if s.Valid {
		return fmt.Sprintf("%.0f nodes/s", s.NodesPerS)
	}
	if len(s.Warnings) == 0 {
		return "INVALID"
	}
	return "INVALID: " + s.Warnings[0]
}

// values returns a figure of the valid runs of a group, in run order.
func values(found *bench.Comparison, backend string, size int, get func(*record.Sample) (float64, bool)) []float64 {
	var out []float64
	for i := range found.Manifest.Samples {
		s := &found.Manifest.Samples[i]
		if !s.Valid || s.Backend != backend || s.Size != size {
			continue
		}
		if v, ok := get(s); ok {
			out = append(out, v)
		}
	}
	return out
}

// invalid returns the first invalid run's reason; empty: none.
func invalid(found *bench.Comparison) string {
	for i := range found.Manifest.Samples {
		if s := &found.Manifest.Samples[i]; !s.Valid {
			return fmt.Sprintf("%s on %s, run %d: %s", s.Scenario, s.Backend, s.Run, outcome(s))
		}
	}
	return ""
}

// countdown estimates how long the rest of a measurement takes: the estimates of the experiments left, corrected by how long
// the finished ones took.
type countdown struct{ spent, left time.Duration } // estimates

func newCountdown(cfg Config, chosen []experiment) *countdown {
	c := &countdown{}
	for _, e := range chosen {
		c.left += cfg.estimate(e)
	}
	return c
}

// finish moves an experiment's estimate from what is left to what is spent.
func (c *countdown) finish(estimate time.Duration) {
	c.spent, c.left = c.spent+estimate, c.left-estimate
}

// remaining formats how long the rest takes, if what is finished took so long.
func (c *countdown) remaining(took time.Duration) string {
	left := c.left
	if c.spent > 0 {
		left = time.Duration(float64(left) * float64(took) / float64(c.spent))
	}
	return fmt.Sprintf("about %s left", left.Round(time.Second))
}
