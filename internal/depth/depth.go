// Package depth says how deep tests go: as deep as every change needs, or as deep as a night allows.
//
// Tests have two sizes. Before a change goes in, each test does as much as its claim needs. At night, the same tests
// do many times as much. [Variable] chooses between them; whoever sets it, nothing is skipped.
//
// Where [AloneVariable] is set, tests that need a server or a second process are left out, and say so: the rest of
// them needs nothing but a compiler.
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

// Variable is the environment variable that makes tests deep when its value is "night".
const Variable = "PULLEY_TEST_DEPTH"

// Night says whether tests are to go as deep as a night allows.
func Night() bool { return os.Getenv(Variable) == "night" }

// Of gives the size of a test: everyChange in the tests that run before each change, night in those of the night.
func Of[T any](everyChange, night T) T {
	if Night() {
		return night
	}
	return everyChange
}

// AloneVariable is the environment variable that, when it is "1", leaves a test binary by itself: its tests start
// no server and no other process. Those that need one say so, and are left to a run without it.
const AloneVariable = "PULLEY_TEST_ALONE"

// Alone says whether tests have nothing but their own process.
func Alone() bool { return os.Getenv(AloneVariable) == "1" }

// Needs ends a test that needs something beside its own process where there is only that. The test is skipped, and says
// what it needs.
func Needs(t testing.TB, what string) {
	t.Helper()
	if Alone() {
		t.Skipf("this needs %s, and %s=1 leaves that to a run without it", what, AloneVariable)
	}
}

// lastWords is how long before the end of all tests a test ends that waits for something.
const lastWords = 15 * time.Second

// Within gives a context for a test that waits for something, which ends after a time, and a little before go test ends all tests
// (-timeout), so that the test can say what it waited for. It is not for tests in a bubble of testing/synctest, where time stands still.
func Within(ctx context.Context, t testing.TB, patience time.Duration) (context.Context, context.CancelFunc) {
	ends := time.Now().Add(patience)
	if tests, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if all, ok := tests.Deadline(); ok && ends.After(all.Add(-lastWords)) {
			ends = all.Add(-lastWords)
		}
	}
	return context.WithDeadline(ctx, ends)
}

// Checks sets how many cases package rapid tries in the rest of a test, unless the command line says it. The test must
// not run beside others of its binary.
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

// SeedVariable is the environment variable that says where tests begin which otherwise begin somewhere else each time.
const SeedVariable = "PULLEY_SEED"

// Seed gives the number with which the random part of a test begins: that of [SeedVariable], else one of the time. Whoever
// draws from it says so in what it prints, and a failure says how to begin there again.
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

// Done prints one line of what a test has done, in words of the form name=value, for whoever adds up what many runs did.
func Done(t testing.TB, format string, args ...any) {
	t.Helper()
	fmt.Printf("done: %s %s\n", t.Name(), fmt.Sprintf(format, args...))
}

// Interrupted gives a context that ends when the user ends the run by an interrupt: a long test then stops, and says
// how far it came. A second interrupt ends the process, as does some time in which it did not end.
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

// interruptedWithin is how long a test binary has to end by itself.
const interruptedWithin = 20 * time.Second
