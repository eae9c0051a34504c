package fault

import (
	"context"
	"errors"
	"testing"
)

type failingWorld struct {
	World
	failed map[string]int
}

func (w failingWorld) Failed() map[string]int { return w.failed }

// TestAFullDiskHasHappened distinguishes the errors of a full disk, including a server crash, from others.
func TestAFullDiskHasHappened(t *testing.T) {
	before := map[string]int{"53100": 2, "57P03": 1}
	for _, c := range []struct {
		after    map[string]int
		happened bool
	}{
		{map[string]int{"53100": 3, "57P03": 1}, true},
		{map[string]int{"53100": 2, "57P03": 2}, true}, // its log had no space, and it recovers
		{map[string]int{"53100": 2, "57P03": 1, "57014": 1}, false},
	} {
		if got := postgresDisk.HasHappened(before, c.after); got != c.happened {
			t.Errorf("%v after %v: happened %t", c.after, before, got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if !c.happened {
			cancel() // the awaited error does not come
		}
		err := until(ctx, failingWorld{failed: c.after}, Fault{}, postgresDisk.States, before, nil)
		if c.happened != (err == nil) || err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%v after %v: %v", c.after, before, err)
		}
		cancel()
	}
}
