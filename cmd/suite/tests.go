package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tests is a run of go test.
type tests struct {
	packages []string
	race     bool
	vetted   bool              // go vet reads the packages, too
	atOnce   int               // packages at a time; zero: two for each processor
	timeout  time.Duration     // of one package
	flags    []string          // more, for go test
	env      map[string]string // besides the place's
	printed  func(result)      // hears of each package that ended
	record   string            // a file for the events; empty: none
	built    *built            // what is compiled already; nil: go test compiles
	meter    *spentMeter       // nil: nobody wants to know what processor time they take
}

// garbage has test binaries, which live for seconds, collect less often, unless the caller says how often.
const garbage = "400"

// raceOptions have what is built with the race detector end at once. By itself it waits for a second, in which other goroutines
// might meet: a second for each test binary, and for each process that one starts.
const raceOptions = "atexit_sleep_ms=0"

// withoutDebugger links test binaries without what only a debugger reads, which is half of the work of linking one. Stack traces
// and profiles need none of it.
const withoutDebugger = "-ldflags=-w"

// withVariable gives an environment with one more variable.
func withVariable(env map[string]string, name, value string) map[string]string {
	more := map[string]string{}
	maps.Copy(more, env)
	more[name] = value
	return more
}

// parallelTests is how many tests of a package run at a time, of those that may: two for each processor, since tests also wait.
func parallelTests() int { return 2 * processors() }

// goTest has go test compile and run the tests, and write their events. It leaves vet to who vets: go test would have every package vetted once
// with the race detector and once without, down to the standard library.
func (p *workdir) goTest(ctx context.Context, t tests, out io.Writer) error {
	args := []string{"go", "test", "-json", "-exec", strings.Join(t.meter.through(), " "), "-count=1", "-p", strconv.Itoa(t.atOnce), "-parallel", strconv.Itoa(parallelTests()), "-timeout", t.timeout.String(), "-vet=off", withoutDebugger}
	if t.race {
		args = append(args, "-race")
	}
	return p.run(ctx, command{args: append(append(args, t.flags...), t.packages...), env: t.env, out: out})
}

// test runs the tests. The error tells that they could not be run; that some failed stands in the tally.
func (p *workdir) test(ctx context.Context, t tests) (*tally, error) {
	work := p.goTest
	if t.built != nil {
		work = p.runBinaries
	}
	if os.Getenv("GOGC") == "" {
		t.env = withVariable(t.env, "GOGC", garbage)
	}
	if os.Getenv("GORACE") == "" {
		t.env = withVariable(t.env, "GORACE", raceOptions)
	}
	reader, writer := io.Pipe()
	out := io.Writer(writer)
	if t.record != "" {
		if err := os.MkdirAll(filepath.Dir(t.record), 0o755); err != nil {
			return nil, err
		}
		file, err := os.Create(t.record)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		out = io.MultiWriter(file, writer)
	}
	var err error
	if t.meter, err = p.meterSpent(); err != nil {
		return nil, err
	}
	counted := newTally(t.printed)
	counted.spent = t.meter.spent
	ended := make(chan error, 1)
	begun := time.Now()
	go func() {
		err := work(ctx, t, out)
		_ = writer.Close() // the reader's end
		ended <- err
	}()
	var said bytes.Buffer
	err = counted.read(reader, func(line string) { fmt.Fprintln(&said, line) })
	_ = reader.CloseWithError(err) // so that a command whose output nobody reads ends
	err = errors.Join(err, <-ended)
	counted.Wall = time.Since(begun).Seconds()
	switch {
	case ctx.Err() != nil:
		return counted, context.Cause(ctx)
	case status(err) < 0 || len(counted.Packages) == 0:
		return counted, fmt.Errorf("running the tests: %w\n%s", err, said.String())
	}
	if said.Len() > 0 {
		fmt.Fprint(os.Stderr, said.String())
	}
	return counted, nil
}

// listPackages lists the packages that patterns name; without any, all.
func (p *workdir) listPackages(ctx context.Context, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	all, err := p.describe(ctx, append([]string{"-json=ImportPath"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.ImportPath
	}
	return names, nil
}

// listed is what go list tells of a package, or of its tests: of these fields, those that it is asked for.
type listed struct {
	ImportPath, Dir           string
	Deps                      []string
	TestGoFiles, XTestGoFiles []string
}

// describe has go list tell of packages.
func (p *workdir) describe(ctx context.Context, args ...string) ([]listed, error) {
	var out, problems bytes.Buffer
	if err := p.run(ctx, command{args: append([]string{"go", "list"}, args...), out: &out, err: &problems}); err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, problems.String())
	}
	var all []listed
	for d := json.NewDecoder(&out); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, l)
	}
}

// timesFile keeps how long each package took, so that the next run begins with the longest.
const timesFile = "out/test/seconds.json"

// longest are the packages that take longest, for the first run on a machine.
var longest = []string{
	"chaos", "sim/explore/search", "sim/pgsim/pull", "sim/pgsim/journal", "bench", "engine", "cmd/pulley", "engine/backend/differ", "engine/pgserver", "engine/backend/postgres/pull",
	"engine/backend/postgres/push", "engine/backend/postgres/eager", "engine/backend/postgres/journal", "chaos/hosts",
	"sim/pgsim/push", "sim/pgsim/eager", "sim/explore",
	"bench/ceiling", "chaos/mutants", "bench/measure", "bench/claims",
}

// longestFirst puts packages in the order in which they should begin, so that no processor is idle at the end.
func longestFirst(packages []string, seconds map[string]float64) []string {
	weight := func(name string) float64 {
		if s, ok := seconds[short(name)]; ok {
			return s
		}
		if i := slices.Index(longest, short(name)); i >= 0 {
			return float64(len(longest) - i)
		}
		return 0
	}
	sorted := slices.Clone(packages)
	slices.SortStableFunc(sorted, func(a, b string) int {
		switch d := weight(b) - weight(a); {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	})
	return sorted
}

// readSeconds gives how long each package took the last time; nothing if that is not known.
func readSeconds(file string) map[string]float64 {
	seconds := map[string]float64{}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &seconds) != nil {
		return nil // the order is a matter of speed alone
	}
	return seconds
}

// writeSeconds keeps how long packages took, and what is known of the others.
func writeSeconds(file string, t *tally) error {
	seconds := readSeconds(file)
	if seconds == nil {
		seconds = map[string]float64{}
	}
	for _, r := range t.Packages {
		seconds[short(r.Package)] = r.Seconds
	}
	return writeJSON(file, seconds)
}

// writeJSON writes a file whole, or not at all.
func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// processors is how many this machine lets us use.
func processors() int { return runtime.GOMAXPROCS(0) }
