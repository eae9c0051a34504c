// Package depth controls how deep tests go. Before a change, each test does as much as its claim needs; at night, many times as
// much. [Variable] chooses; neither skips a test.
//
// With [AloneVariable], tests that need a server or a second process are skipped: the others need only a compiler.
package depth

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Variable is the environment variable that makes tests deep when it is "night".
const Variable = "PULLEY_TEST_DEPTH"

// Night reports whether tests are deep.
func Night() bool { return os.Getenv(Variable) == "night" }

// Of returns the size of a test.
func Of[T any](everyChange, night T) T {
	if Night() {
		return night
	}
	return everyChange
}

// AloneVariable is the environment variable that, when "1", skips tests that need a server or another process.
const AloneVariable = "PULLEY_TEST_ALONE"

// Alone reports whether tests have only their own process.
func Alone() bool { return os.Getenv(AloneVariable) == "1" }

// Needs skips a test that needs something besides its own process, if Alone, and names it.
func Needs(t testing.TB, what string) {
	t.Helper()
	if Alone() {
		t.Skipf("this needs %s, and %s=1 leaves that to a run without it", what, AloneVariable)
	}
}

// lastWords is the time before the end of all tests at which a waiting test ends.
const lastWords = 15 * time.Second

// Within returns a context for a test that waits. It ends after patience, and a little before go test ends all tests
// (-timeout), so that the test can report what it waited for. It is not for bubbles of testing/synctest, whose time stands
// still.
func Within(ctx context.Context, t testing.TB, patience time.Duration) (context.Context, context.CancelFunc) {
	ends := time.Now().Add(patience)
	if tests, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if all, ok := tests.Deadline(); ok && ends.After(all.Add(-lastWords)) {
			ends = all.Add(-lastWords)
		}
	}
	return context.WithDeadline(ctx, ends)
}

// Checks sets rapid's number of cases for the rest of a test, unless the command line does. The test must not be parallel.
func Checks(t testing.TB, everyChange, night int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f == nil {
		t.Fatal("package rapid is not part of this binary")
	}
	before := f.Value.String()
	if before != f.DefValue {
		return
	}
	if err := flag.Set(f.Name, fmt.Sprint(Of(everyChange, night))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(f.Name, before); err != nil {
			t.Error(err)
		}
	})
}

// SeedVariable is the environment variable of the random tests' seed.
const SeedVariable = "PULLEY_SEED"

// Seed returns the seed of [SeedVariable], else one of the time. The caller prints it, so that a failure can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv(SeedVariable)
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is to be a number: %v", SeedVariable, err)
	}
	return seed
}

// Done prints one line about what a test has done, in the form name=value, to be summed up over many runs.
func Done(t testing.TB, format string, args ...any) {
	t.Helper()
	fmt.Printf("done: %s %s\n", t.Name(), fmt.Sprintf(format, args...))
}

// Interrupted returns a context that ends when the user interrupts the run, so that a long test can stop and report its
// progress. A second interrupt, or interruptedWithin, ends the process.
var Interrupted = sync.OnceValue(func() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(interruptedWithin, func() {
			fmt.Println("interrupted: what still ran was left")
			os.Exit(1)
		})
	})
	return ctx
})

const interruptedWithin = 20 * time.Second
