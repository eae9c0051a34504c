package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"pulley/sim/explore"
	"pulley/sim/explore/search"
)

// seedsCmd simulates one design in a separate process, so that a crash does not end the night.
type seedsCmd struct {
	Backend string        `required:""`
	From    uint64        `required:""`
	For     time.Duration `required:""`
	Out     string        `required:"" help:"Where the case of a violation is written."`
}

type searched struct {
	Seeds     int      `json:"seeds"`
	Steps     int      `json:"steps"`
	Programs  int      `json:"programs"`
	Faults    int      `json:"faults"`
	Deadlocks int      `json:"deadlocks"`
	Seed      uint64   `json:"seed,omitempty"` // of the violation
	Why       []string `json:"why,omitempty"`
	Case      string   `json:"case,omitempty"`
}

const shrinkFor = time.Minute

func (o *seedsCmd) Run(ctx context.Context) error {
	debug.SetGCPercent(800) // worlds are small and short
	limited, cancel := context.WithTimeout(ctx, o.For)
	defer cancel()
	found, err := search.Search{Backend: o.Backend, From: o.From, To: math.MaxInt64}.Do(limited)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	c := found.Counts
	s := searched{Seeds: c.Seeds, Steps: c.Steps, Programs: c.Programs, Deadlocks: c.Deadlocks}
	for _, n := range c.Faults {
		s.Faults += n
	}
	if found.Bad != nil {
		kase, why := search.Shrink(*found.Bad, found.Why, shrinkFor)
		kase.Why = why[0]
		s.Seed, s.Why, s.Case = found.Bad.Seed, found.Why, o.Out
		if err := kase.Save(o.Out); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

func runSeeds(ctx context.Context, n *night, until time.Time, o *outcome) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	designs := explore.Backends()
	for i, design := range designs {
		end := time.Now().Add(time.Until(until) / time.Duration(len(designs)-i))
		for time.Until(end) > time.Second {
			from := n.state.next("seeds of " + design)
			s, err := n.searchSeeds(ctx, self, design, from, time.Until(end))
			if err != nil {
				return fmt.Errorf("%s from seed %d: %w", design, from, err)
			}
			n.state.Next["seeds of "+design] = from + uint64(s.Seeds)
			o.Add("seeds of "+design, int64(s.Seeds))
			o.Add("steps", int64(s.Steps))
			o.Add("faults", int64(s.Faults))
			o.Add("deadlocks", int64(s.Deadlocks))
			if s.Why == nil {
				break
			}
			n.state.Next["seeds of "+design] = max(from+uint64(s.Seeds), s.Seed+1)
			o.Fail(problem{
				What: fmt.Sprintf("%s, seed %d: %s", design, s.Seed, strings.Join(s.Why, "; ")), Again: "go run ./cmd/pulley sim --replay " + s.Case,
			})
		}
	}
	return nil
}

func (n *night) searchSeeds(ctx context.Context, self, design string, from uint64, length time.Duration) (s searched, err error) {
	var out, problems bytes.Buffer
	file := n.file("seeds", fmt.Sprintf("%s-%d.json", fileName(design), from))
	if err := os.MkdirAll(n.file("seeds"), 0o755); err != nil {
		return s, err
	}
	c := command{args: []string{self, "seeds", "--backend", design, "--from", fmt.Sprint(from), "--for", length.String(), "--out", file}, out: &out, err: &problems}
	if err := n.run(ctx, c); err != nil {
		return s, fmt.Errorf("%w: %s", err, problems.String())
	}
	return s, json.Unmarshal(out.Bytes(), &s)
}

func fileName(name string) string {
	return strings.NewReplacer(":", "-", "=", "-", "/", "-", " ", "-").Replace(name)
}
