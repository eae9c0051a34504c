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

type tests struct {
	packages []string
	race     bool
	atOnce   int               // packages at a time
	timeout  time.Duration     // of one package
	flags    []string          // more, for go test
	env      map[string]string // besides the workdir's
	printed  func(result)      // receives each ended package
	record   string            // a file for the events; empty: none
	built    *built            // nil: go test compiles
	meter    *spentMeter       // nil: processor time is not recorded
}

// garbage is GOGC: short-lived test binaries collect garbage less often.
const garbage = "400"

// raceOptions let programs exit at once. By default each test binary, and each process that it starts, waits a second for
// races.
const raceOptions = "atexit_sleep_ms=0"

func withVariable(env map[string]string, name, value string) map[string]string {
	more := map[string]string{}
	maps.Copy(more, env)
	more[name] = value
	return more
}

// parallelTests is two per processor, since tests also wait.
func parallelTests() int { return 2 * processors() }

// goTest does not vet: check does, and go test would vet every package with and without the race detector, including the standard
// library.
func (p *workdir) goTest(ctx context.Context, t tests, out io.Writer) error {
	args := []string{"go", "test", "-json", "-exec", strings.Join(t.meter.through(), " "), "-count=1", "-p", strconv.Itoa(t.atOnce), "-parallel", strconv.Itoa(parallelTests()), "-timeout", t.timeout.String(), "-vet=off"}
	if t.race {
		args = append(args, "-race")
	}
	return p.run(ctx, command{args: append(append(args, t.flags...), t.packages...), env: t.env, out: out})
}

// test runs the tests. The error means that they could not run; failures are in the tally.
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
	_ = reader.CloseWithError(err) // ends a command whose output nobody reads
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

type listed struct {
	ImportPath, Dir           string
	Deps                      []string
	TestGoFiles, XTestGoFiles []string
}

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

const timesFile = "out/test/seconds.json"

// longest are the longest packages, for the first run on a machine.
var longest = []string{
	"chaos", "sim/explore/search", "sim/pgsim/pull", "sim/pgsim/journal", "bench", "engine", "cmd/pulley", "engine/backend/differ", "engine/pgserver", "engine/backend/postgres/pull",
	"engine/backend/postgres/push", "engine/backend/postgres/eager", "engine/backend/postgres/journal", "chaos/hosts",
	"sim/pgsim/push", "sim/pgsim/eager", "sim/explore",
	"bench/ceiling", "chaos/mutants", "bench/measure", "bench/claims",
}

// longestFirst orders packages so that no processor is idle at the end.
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

func readSeconds(file string) map[string]float64 {
	seconds := map[string]float64{}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &seconds) != nil {
		return nil // only the order depends on it
	}
	return seconds
}

// writeSeconds keeps the durations of other packages.
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

func processors() int { return runtime.GOMAXPROCS(0) }
