package pairs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench/gate/pairs"
)

func TestOrderIsDrawnFromTheSeed(t *testing.T) {
	a, b := pairs.Order(200, 1), pairs.Order(200, 1)
	if !slices.Equal(a, b) || slices.Equal(a, pairs.Order(200, 2)) {
		t.Error("the order is not the seed's")
	}
	first := 0
	for _, s := range a {
		if s == pairs.Candidate {
			first++
		}
	}
	if first < 60 || first > 140 {
		t.Errorf("the candidate begins %d of 200 pairs: that is no coin", first)
	}
}

func TestRunGivesEachSideOneTurnAPair(t *testing.T) {
	var got [2][]int
	err := pairs.Run(t.Context(), 5, 7, pairs.Until{}, func(_ context.Context, side pairs.Side, pair int) error {
		got[side] = append(got[side], pair)
		return nil
	})
	if want := []int{0, 1, 2, 3, 4}; err != nil || !slices.Equal(got[0], want) || !slices.Equal(got[1], want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRunEnds(t *testing.T) {
	broken := errors.New("broken")
	turns := 0
	err := pairs.Run(t.Context(), 5, 1, pairs.Until{}, func(context.Context, pairs.Side, int) error { turns++; return broken })
	if !errors.Is(err, broken) || turns != 1 || !strings.Contains(err.Error(), "pair 1 of 5") {
		t.Errorf("%v after %d turns", err, turns)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = pairs.Run(ctx, 5, 1, pairs.Until{}, func(context.Context, pairs.Side, int) error { cancel(broken); return nil })
	if !errors.Is(err, broken) {
		t.Errorf("%v: want the cause of the context's end", err)
	}
}

func TestCommand(t *testing.T) {
	sh := func(script string) pairs.Command { return pairs.Command{Args: []string{"sh", "-c", script}} }
	if out, err := sh("echo one; echo two >&2").Run(t.Context()); err != nil || string(out) != "one\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := sh("echo first >&2; echo why it failed >&2; exit 4").Run(t.Context()); err == nil || !strings.Contains(err.Error(), "why it failed") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: want one line with the last of the errors", err)
	}
	accepting := sh("echo found; exit 1")
	accepting.Accept = []int{1}
	if out, err := accepting.Run(t.Context()); err != nil || string(out) != "found\n" {
		t.Errorf("%q, %v", out, err)
	}
	late := sh("exec sleep 60")
	late.Timeout = time.Millisecond
	if _, err := late.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1ms") {
		t.Errorf("%v: want that it took too long", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := sh("exec sleep 60").Run(ctx); !errors.Is(err, stopped) {
		t.Errorf("%v: want the cause", err)
	}
}

// The first pair must be made even if no time is left, and no other.
func TestNoPairBeginsThatWouldEndTooLate(t *testing.T) {
	turns := 0
	err := pairs.Run(t.Context(), 5, 1, pairs.UntilAfter(time.Nanosecond), func(context.Context, pairs.Side, int) error { turns++; return nil })
	if err != nil || turns != 2 {
		t.Errorf("%d turns, %v; want both of one pair", turns, err)
	}
	turns = 0
	err = pairs.Run(t.Context(), 5, 1, pairs.UntilAfter(time.Hour), func(context.Context, pairs.Side, int) error { turns++; return nil })
	if err != nil || turns != 10 {
		t.Errorf("%d turns, %v; want all within an hour", turns, err)
	}
}

func TestPairsBeginWhileTheyWouldEndInTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		left, took time.Duration
		done       int
		want       bool
	}{
		{10 * time.Second, 40 * time.Second, 4, true}, // a pair takes 10 s
		{9 * time.Second, 40 * time.Second, 4, false},
		{9 * time.Second, 40 * time.Second, 5, true},
		{-time.Second, 0, 0, true}, // the first
	} {
		if got := pairs.Until(now.Add(c.left)).Lets(now, c.done, c.took); got != c.want {
			t.Errorf("%d pairs in %v, %v left: another begins: %v", c.done, c.took, c.left, got)
		}
	}
	if !(pairs.Until{}).Lets(now, 4, time.Hour) {
		t.Error("without an end, a pair does not begin")
	}
}
