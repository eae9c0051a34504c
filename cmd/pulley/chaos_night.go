package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pulley/chaos"
	"pulley/cmd/pulley/console"
)

// chaosNightCmd is the chaos part of make nightly: successive runs, for a time or until enough faults of each kind have
// happened.
type chaosNightCmd struct {
	console.BackendsFlag `set:"backends=push,journal,eager,pull,pull:scan=sql"`
	Faults               []string `default:"all" help:"The kinds of faults of the first of a round's runs. Default: all, and those that go to every message."`
	console.SeedFlag     `set:"drawn=the first round; each round over the schedulers has the next"`
	RunDuration          time.Duration `default:"60s" help:"How long things go wrong in a run, about. Default: 60s."`
	Cuts                 int           `default:"10000" help:"So many connections are cut, over all runs. Default: 10000."`
	Kills                int           `default:"5000" help:"So many engines are killed. Default: 5000."`
	Terminated           int           `default:"1000" help:"So many sessions are ended by the server. Default: 1000."`
	Crashes              int           `default:"100" help:"So often the server crashes. Default: 100."`
	Lost                 int           `default:"1000" help:"So many commits take place and their reply is lost. Default: 1000."`
	Messages             time.Duration `default:"15m" help:"At the end, how long each scheduler's connections and engines may be cut and killed at the messages of its transactions at which no run has done so. 0: not at all. Default: 15m."`
	Duration             time.Duration `help:"Instead of all that: run for so long, over all schedulers in turn, from where the last such night of --out has stopped. Default: until every number is reached."`
	Jobs                 int           `default:"2" help:"So many runs at a time, each with a server of its own. Default: 2."`
	MaxDuration          time.Duration `default:"10h" help:"No run begins after so long. Default: 10h."`
	console.OutFlag      `set:"folder=out/nightly/chaos" set:"files=totals.json and a folder for each run that does not pass"`
}

func (chaosNightCmd) Help() string {
	return "Each round has three runs on each scheduler: one with every kind of fault, or those of --faults, one with many cuts, lost replies, ended " +
		"sessions and crashes, and one with many kills; what is reached is not run for again. In the end each scheduler is cut and killed " +
		"at the messages at which no run has done so. A run that does not pass is kept in a folder of its own, and the others continue. " +
		"With --duration, the numbers are no goals, and a run that is under way when the time is over counts for nothing: " +
		"the next night begins with it, as DIR/state.json says.\n\n" +
		"The last line, and totals.json after each run, say what has happened over all.\n\n" +
		"Exit status: 0 if every run passed and, without --duration, every number was reached; 1 if one failed or a number was not reached; 3 if none " +
		"failed and one was inconclusive, or there was time for none; 2 for a mistake in the command line."
}

// dense are sets of kinds that can be frequent in a short time, with their goals.
var dense = []struct {
	kinds []string
	goals []chaos.Goal
}{
	{[]string{"wire.every", "wire.commits", "postgres.terminate", "postgres.immediate", "postgres.kill"}, []chaos.Goal{chaos.Cuts, chaos.Lost, chaos.Terminated, chaos.Crashes}},
	{[]string{"process.every"}, []chaos.Goal{chaos.Kills}},
}

var everyMessage = []string{"wire.every", "process.every", "process.start"}

func (o *chaosNightCmd) Run(c *console.Console) error {
	cfg, err := engineConfig()
	if err != nil {
		return err
	}
	cfg.Progress = func(line string) { c.Say("%s", line) }
	if len(o.Backends) == 0 || o.RunDuration < 0 || o.MaxDuration < 0 || o.Messages < 0 || o.Duration < 0 || o.Jobs < 1 {
		return errors.New("--backends must name one, --run-duration, --max-duration, --duration and --messages must not be negative, and --jobs must be positive")
	}
	for _, b := range o.Backends {
		if _, _, err := o.one(b, o.Seed, o.Faults...).kase(); err != nil {
			return err
		}
	}
	if err := console.Writable(o.Out); err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	totals := chaos.NewTotals(map[chaos.Goal]int{
		chaos.Cuts: o.Cuts, chaos.Kills: o.Kills, chaos.Terminated: o.Terminated, chaos.Crashes: o.Crashes, chaos.Lost: o.Lost,
	})
	n := &nightly{chaosNightCmd: o, c: c, cfg: cfg, totals: totals, begun: time.Now()}
	if o.Duration > 0 {
		if err := n.within(ctx); err != nil {
			return console.Ended(ctx, err)
		}
		return o.finish(c, totals)
	}
	for seed := o.Seed; seed == o.Seed || !totals.Enough() && time.Since(n.begun) < o.MaxDuration; seed++ {
		if err := n.round(ctx, seed); err != nil {
			return console.Ended(ctx, err)
		}
	}
	if err := n.everywhere(ctx); err != nil {
		return console.Ended(ctx, err)
	}
	return o.finish(c, totals)
}

type nightly struct {
	*chaosNightCmd
	c     *console.Console
	cfg   chaos.Config
	begun time.Time

	mu     sync.Mutex // guards totals, and output about them
	totals *chaos.Totals
}

func (n *nightly) round(ctx context.Context, seed uint64) error {
	sets := [][]string{n.Faults}
	for _, d := range dense {
		if seed == n.Seed || slices.ContainsFunc(d.goals, n.totals.Lacks) {
			sets = append(sets, d.kinds)
		}
	}
	var runs []*chaosCmd
	for i, kinds := range sets {
		for _, backend := range n.Backends {
			one := n.one(backend, seed, kinds...)
			one.Out = filepath.Join(n.Out, fmt.Sprintf("%s-%d-%d", options.Replace(backend), seed, i+1))
			runs = append(runs, one)
		}
	}
	return n.all(ctx, runs)
}

// everywhere cuts and kills at the messages that no round has visited, for every backend.
func (n *nightly) everywhere(ctx context.Context) error {
	var runs []*chaosCmd
	for _, backend := range n.Backends {
		if n.Messages <= 0 || len(n.totals.Messages[backend].Unvisited) == 0 {
			continue
		}
		one := n.one(backend, n.Seed, everyMessage...)
		one.Exhaustive, one.MaxDuration, one.Duration = true, n.Messages, time.Second
		one.Out = filepath.Join(n.Out, options.Replace(backend)+"-messages")
		runs = append(runs, one)
	}
	return n.all(ctx, runs)
}

// all makes runs, Jobs at a time. After an error no further run begins.
func (n *nightly) all(ctx context.Context, list []*chaosCmd) error {
	var runs errgroup.Group
	runs.SetLimit(n.Jobs)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, one := range list {
		runs.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			err := n.run(ctx, one)
			if err != nil {
				stop(err)
			}
			return err
		})
	}
	return runs.Wait()
}

func (n *nightly) run(ctx context.Context, one *chaosCmd) error {
	cfg := n.cfg
	cfg.Progress = func(line string) { n.cfg.Progress(filepath.Base(one.Out) + ": " + line) }
	n.mu.Lock()
	cfg.Known = n.totals.Known(one.Backend)
	n.mu.Unlock()
	res, err := one.run(ctx, n.c, cfg)
	if ctx.Err() != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil { // such as a server that did not start: the others continue
		res = failedRun(one.Backend, err)
	}
	n.totals.Add(res)
	n.totals.Seconds = time.Since(n.begun).Seconds()
	var unwritten error
	if res.Verdict != chaos.Pass {
		n.totals.Kept = append(n.totals.Kept, one.Out)
		if err == nil {
			unwritten = one.write(res)
		}
		n.c.Say("%s: %s: %v", one.Out, res.Verdict, append(res.Why, res.Invariants()...))
	}
	if err := errors.Join(unwritten, n.write(n.totals)); err != nil {
		return err
	}
	n.c.Say("%s", n.totals.Line())
	return nil
}

var options = strings.NewReplacer(":", "-", "=", "-")

func (o *chaosNightCmd) one(backend string, seed uint64, faults ...string) *chaosCmd {
	one := &chaosCmd{Faults: faults, Duration: o.RunDuration, Engines: 2, Workers: 16, Lease: time.Second, whole: true}
	one.Backend, one.Seed = backend, seed
	if slices.Equal(faults, []string{"all"}) { // messages are visited after all rounds
		one.Exhaustive, one.MaxDuration = true, -time.Millisecond
	}
	return one
}

func failedRun(backend string, err error) *chaos.Result {
	return &chaos.Result{Backend: backend, Verdict: chaos.Inconclusive, Why: []string{err.Error()}}
}

func (o *chaosNightCmd) write(t *chaos.Totals) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Out, "totals.json"), append(text, '\n'), 0o644)
}

func (o *chaosNightCmd) finish(c *console.Console, t *chaos.Totals) error {
	if err := c.Print(t.Line() + "\n"); err != nil {
		return err
	}
	goals := o.Duration == 0
	switch {
	case t.Verdicts[chaos.Fail] > 0 || goals && !t.Enough():
		return &console.Status{Code: console.ExitFailed}
	case t.Verdicts[chaos.Pass] < t.Runs || t.Runs == 0:
		return &console.Status{Code: console.ExitInconclusive}
	}
	return nil
}
