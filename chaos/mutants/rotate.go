package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	tierTest  = "test"
	tierNight = "night"
)

func (m mutant) tier() string {
	if m.Check.Case != "" {
		return tierNight
	}
	return tierTest
}

func rotate(mutants []mutant, start int) []mutant {
	n := start % len(mutants)
	return append(append([]mutant{}, mutants[n:]...), mutants[:n]...)
}

type planting struct {
	Mutants []outcome `json:"mutants"`
	Next    int       `json:"next"` // number of the first chosen mutant that was not planted, for --start
	Of      int       `json:"of"`
}

var errTimeUp = errors.New("the time is over")

// plantAll plants mutants from o.start on until its time is over or it is interrupted, each after its baseline.
func plantAll(ctx context.Context, root string, mutants []mutant, o options, progress io.Writer) (planting, error) {
	dir, err := os.MkdirTemp("", "pulley-mutants-")
	if err != nil {
		return planting{}, err
	}
	defer removeAll(dir)
	if o.most > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, o.most, errTimeUp)
		defer stop()
	}
	p := &planter{root: root, dir: dir, race: o.race, lingers: lingersWithin, builds: map[string]*build{}}
	t := &reporter{to: progress}
	turn := rotate(mutants, o.start)
	outcomes, checks := make([]outcome, len(turn)), checksOf(turn)
	each(ctx, o.jobs, len(turn), func(i int) {
		m := turn[i]
		var without baseline
		if m.Equivalent == "" {
			without = checks[m.Check.command()].of(ctx, p, m.Check, t)
		}
		if got := p.try(ctx, m, without); ctx.Err() == nil {
			outcomes[i] = got
			t.printf("%-9s %6.1f s  %s", got.Outcome, got.Seconds, m.Name)
		}
	})
	done := planting{Mutants: []outcome{}, Of: len(turn)}
	first := len(turn)
	for i, got := range outcomes {
		if got.Outcome != "" {
			done.Mutants = append(done.Mutants, got)
		} else {
			first = min(first, i)
		}
	}
	done.Next = (o.start + first) % len(turn)
	if err := context.Cause(ctx); err != nil && !errors.Is(err, errTimeUp) {
		return done, err
	}
	return done, nil
}

type reporter struct {
	mu sync.Mutex
	to io.Writer
}

func (t *reporter) printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.to, format+"\n", args...)
}

// unplanted is a check's baseline, made when a mutant first needs it.
type unplanted struct {
	once sync.Once
	end  baseline
}

func checksOf(mutants []mutant) map[string]*unplanted {
	checks := map[string]*unplanted{}
	for _, m := range mutants {
		checks[m.Check.command()] = &unplanted{}
	}
	return checks
}

func (u *unplanted) of(ctx context.Context, p *planter, c check, t *reporter) baseline {
	u.once.Do(func() {
		began, word := time.Now(), "sound"
		if u.end = p.baseline(ctx, c); ctx.Err() != nil {
			return
		}
		if u.end.err != nil {
			word = broken
		}
		t.printf("%-9s %6.1f s  %s", word, time.Since(began).Seconds(), c.command())
	})
	return u.end
}

// removedWithin bounds how long killed processes may still write to a folder that is being removed.
const removedWithin = 10 * time.Second

// removeAll retries: a server that ended with its check may still write to the folder.
func removeAll(dir string) {
	for end := time.Now().Add(removedWithin); os.RemoveAll(dir) != nil && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond) // leftovers do no harm
	}
}
