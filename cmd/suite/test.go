package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// testCmd runs every test.
type testCmd struct {
	Packages []string      `arg:"" optional:"" help:"Patterns of packages. Default: ./..."`
	AtOnce   int           `help:"Packages at a time. Default: one and a half for each processor, since tests also wait."`
	Timeout  time.Duration `default:"20m" help:"How long one package may take: an hour's bound of what hangs, no measure. Default: 20m."`
	Flags    string        `help:"More for go test, such as '-cover' or '-run TestX'."`
	Out      string        `default:"out/test" help:"Where the events and the times are kept. Default: out/test."`
}

// Run runs them and tells how they ended.
func (o *testCmd) Run(ctx context.Context) error {
	return within(func(p *place) error {
		t, err := o.run(ctx, p, func(r result) { tellPackage(os.Stdout, r) })
		if err != nil {
			return err
		}
		tellSummary(os.Stdout, t)
		if !t.green() {
			return errFailed
		}
		return nil
	})
}

// run runs the tests and keeps their times.
func (o *testCmd) run(ctx context.Context, p *place, told func(result)) (*tally, error) {
	patterns := o.Packages
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	packages, err := p.listPackages(ctx, patterns)
	if err != nil {
		return nil, err
	}
	atOnce := o.AtOnce
	if atOnce < 1 {
		atOnce = (3*processors() + 1) / 2
	}
	var t *tally
	err = p.withServer(ctx, func(env map[string]string) error {
		t, err = p.test(ctx, tests{
			packages: longestFirst(packages, readSeconds(timesFile)), race: true, atOnce: atOnce, timeout: o.Timeout,
			flags: strings.Fields(o.Flags), env: env, told: told, record: o.Out + "/events.json",
		})
		return err
	})
	if err != nil {
		return t, err
	}
	if err := writeSeconds(timesFile, t); err != nil {
		return t, fmt.Errorf("keeping the times of packages: %w", err)
	}
	return t, nil
}
