package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

type flakesCmd struct {
	N        int           `default:"20" help:"So many times. Default: 20."`
	Packages []string      `arg:"" optional:"" help:"Patterns of packages. Default: ./..."`
	Timeout  time.Duration `default:"2h" help:"How long one package may take, on the busy machine: a bound of what hangs. Default: 2h."`
	Out      string        `default:"out/flakes" help:"Where each run's events and flakes.json are kept. Default: out/flakes."`
}

type flake struct {
	Name     string   `json:"name"`
	Runs     []int    `json:"runs"` // failed ones, from 1
	Outputs  []string `json:"outputs"`
	Repeated string   `json:"again"`
}

type round struct {
	Number  int     `json:"number"`
	Busy    bool    `json:"busy"`
	Green   bool    `json:"green"`
	Seconds float64 `json:"seconds"`
	Tests   int     `json:"tests"`
}

// Every second run is on a busy machine.
func (o *flakesCmd) Run(ctx context.Context) error {
	if o.N < 1 {
		return fmt.Errorf("--n is %d; it must be at least 1", o.N)
	}
	return within(func(p *workdir) error {
		packages, err := p.listPackages(ctx, o.Packages)
		if err != nil {
			return err
		}
		begun := time.Now()
		b, err := p.build(ctx, packages)
		if err != nil {
			return err
		}
		fmt.Printf("compiled the tests of %d packages in %.0f s\n", len(b.binaries), time.Since(begun).Seconds())
		return o.runRounds(ctx, b)
	})
}

func (o *flakesCmd) runRounds(ctx context.Context, b *built) error {
	var rounds []round
	var flakes []flake
	for i := 1; i <= o.N && ctx.Err() == nil; i++ {
		t, err := o.once(ctx, b, i)
		if err != nil && ctx.Err() != nil {
			break // report what was found so far
		}
		if err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
		r := round{Number: i, Busy: busy(i), Green: t.green(), Seconds: t.Wall, Tests: len(t.Tests)}
		rounds, flakes = append(rounds, r), note(flakes, i, t)
		fmt.Println(r)
		if err := writeJSON(filepath.Join(o.Out, "flakes.json"), map[string]any{"rounds": rounds, "flakes": flakes}); err != nil {
			return err
		}
	}
	printFlakes(os.Stdout, rounds, flakes)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if slices.ContainsFunc(rounds, func(r round) bool { return !r.Green }) {
		return errFailed
	}
	return nil
}

func busy(run int) bool { return run%2 == 0 }

func (r round) String() string {
	load, verdict := "idle", "green"
	if r.Busy {
		load = "busy"
	}
	if !r.Green {
		verdict = "NOT GREEN"
	}
	return fmt.Sprintf("run %2d, %s: %s, %d tests in %.0f s", r.Number, load, verdict, r.Tests, r.Seconds)
}

func (o *flakesCmd) once(ctx context.Context, b *built, run int) (t *tally, err error) {
	err = within(func(p *workdir) error {
		c := testCmd{Packages: o.Packages, Timeout: o.Timeout, Out: filepath.Join(o.Out, fmt.Sprintf("run-%02d", run)), built: b}
		work := func() error {
			t, err = c.run(ctx, p, nil)
			return err
		}
		if busy(run) {
			c.AtOnce = 2 * packagesAtOnce() // or the loops would get most of the time
			return p.runAlongsideLoops(ctx, work)
		}
		return work()
	})
	return t, err
}

func note(flakes []flake, run int, t *tally) []flake {
	for _, r := range t.failures() {
		i := slices.IndexFunc(flakes, func(f flake) bool { return f.Name == r.name() })
		if i < 0 {
			flakes, i = append(flakes, flake{Name: r.name(), Repeated: repeat(r)}), len(flakes)
		}
		flakes[i].Runs, flakes[i].Outputs = append(flakes[i].Runs, run), append(flakes[i].Outputs, r.Output)
	}
	return flakes
}

func printFlakes(w io.Writer, rounds []round, flakes []flake) {
	green, quiet, loaded := 0, 0, 0
	for _, r := range rounds {
		if r.Green {
			green++
		}
		if r.Busy {
			loaded++
		} else {
			quiet++
		}
	}
	for _, f := range flakes {
		fmt.Fprintf(w, "\n--- NOT GREEN in %d of %d runs: %s\n", len(f.Runs), len(rounds), f.Name)
		for i, run := range f.Runs {
			fmt.Fprintf(w, "  run %d:\n%s", run, indent(f.Outputs[i]))
		}
		fmt.Fprintf(w, "  again: %s\n", f.Repeated)
	}
	fmt.Fprintf(w, "\n%d of %d runs green (%d idle, %d beside %d busy loops for each processor); %d tests were not green every time\n",
		green, len(rounds), quiet, loaded, loopsPerProcessor, len(flakes))
}

// busyCmd keeps one processor busy until its standard input ends, and so at the latest with its parent.
type busyCmd struct{}

func (busyCmd) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the program
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for n := uint64(1); ; n = n*6364136223846793005 + 1442695040888963407 {
		if n%(1<<20) == 0 && ctx.Err() != nil {
			return nil
		}
	}
}

const loopsPerProcessor = 2

func (p *workdir) runAlongsideLoops(ctx context.Context, work func() error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	alive, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	loops, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range loopsPerProcessor * processors() {
		all.Go(func() { _ = p.run(loops, command{args: []string{self, "busy"}, stdin: alive}) }) // we end it
	}
	err = work()
	err = errors.Join(err, hold.Close(), alive.Close())
	all.Wait()
	cancel()
	return err
}
