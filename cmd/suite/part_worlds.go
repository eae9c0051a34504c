package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func (n *night) binary(ctx context.Context, name string) (string, error) {
	file := filepath.Join(n.dir, fileName(name)+".test")
	if exists(file) {
		return file, nil
	}
	return file, n.runSilently(ctx, "go", "test", "-c", "-o", file, "./"+name)
}

// runTest runs tests of a package in its folder, with the built binary. It records failures.
func (n *night) runTest(ctx context.Context, name string, env map[string]string, o *outcome, args ...string) (string, error) {
	file, err := n.binary(ctx, name)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	args = append([]string{"-test.v", "-test.timeout", "0"}, args...)
	err = n.workdir.run(ctx, command{args: append([]string{file}, args...), dir: name, env: env, out: &out})
	if ctx.Err() != nil {
		return out.String(), context.Cause(ctx)
	}
	if err == nil {
		return out.String(), nil
	}
	if status(err) < 0 {
		return out.String(), err
	}
	again := command{args: append([]string{"go", "test", "./" + name}, args...)}
	o.Fail(problem{What: firstFailure(out.String(), name), Again: again.String(), Output: failedPart(out.String())})
	return out.String(), nil
}

func firstFailure(output, name string) string {
	for line := range strings.Lines(output) {
		if strings.Contains(line, "--- FAIL: ") || strings.HasPrefix(line, "panic: ") {
			return name + ": " + strings.TrimSpace(line)
		}
	}
	return name + ": the test binary failed"
}

func failedPart(output string) string {
	const most = 20_000
	if len(output) > most {
		return "...\n" + output[len(output)-most:]
	}
	return output
}

// worldsPackages shadow the worlds of one design each on Postgres.
var worldsPackages = []string{"sim/pgsim/push", "sim/pgsim/eager", "sim/pgsim/journal", "sim/pgsim/pull"}

func runWorlds(ctx context.Context, n *night, until time.Time, o *outcome) error {
	first := n.state.next("worlds")
	c := chunks{first: 20, least: 5, begun: 3 * time.Second}
	return c.each(ctx, until, func(done, amount int) error {
		from := first + uint64(done)
		for _, name := range worldsPackages {
			if _, err := n.runTest(ctx, name, nil, o, "-test.run", "TestShadow$",
				"-real-from", fmt.Sprint(from), "-real-cases", fmt.Sprint(amount)); err != nil {
				return err
			}
		}
		n.state.Next["worlds"] = from + uint64(amount)
		o.Add("worlds of each design", int64(amount))
		return nil
	})
}

const languagePackage = "engine/backend/differ"

// runLanguage generates programs in memory, and a tenth as many on each design on Postgres, with a new seed for each chunk. It
// also prints programs as Python.
func runLanguage(ctx context.Context, n *night, until time.Time, o *outcome) error {
	return n.withServer(ctx, func(env map[string]string) error {
		c := chunks{first: 1000, least: 500, begun: 2 * time.Second}
		return c.each(ctx, until, func(_, amount int) error {
			seed := n.state.next("language")
			if _, err := n.runTest(ctx, languagePackage, env, o, "-test.run", "^TestPrograms$", "-test.parallel", fmt.Sprint(3*processors()),
				"-programs", fmt.Sprint(amount), "-rapid.seed", fmt.Sprint(seed)); err != nil {
				return err
			}
			n.state.Next["language"] = seed + 1
			o.Add("programs in memory", int64(amount))
			o.Add("programs on each design on Postgres", int64(amount/10))
			return n.printPrograms(ctx, amount/5, env, o)
		})
	})
}

const pythonPackage = "python"

// printPrograms compares programs printed as Python with CPython, and a tenth as many Python workflows on each design.
func (n *night) printPrograms(ctx context.Context, amount int, env map[string]string, o *outcome) error {
	first := n.state.next("python")
	for _, test := range []struct {
		name, what, figure string
		count              int
	}{
		{"TestPrinted", "programs printed as Python", "programs", amount},
		{"TestOnEveryDesign", "runs of workflows in Python on Postgres", "workflows", amount / 10},
	} {
		seeded := map[string]string{"PULLEY_PYTHON_SEEDS": fmt.Sprintf("%d %d", first, test.count)}
		maps.Copy(seeded, env) // nil if the server is not ours
		out, err := n.runTest(ctx, pythonPackage, seeded, o, "-test.run", "^"+test.name+"$")
		if err != nil {
			return err
		}
		o.Add(test.what, figure(out, test.name, test.figure))
	}
	n.state.Next["python"] = first + uint64(amount)
	return nil
}

// figure adds up a figure of a test and its subtests, in lines of depth.Done: "done: NAME figure=N …".
func figure(output, test, name string) int64 {
	var sum int64
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "done:" || words[1] != test && !strings.HasPrefix(words[1], test+"/") {
			continue
		}
		for _, word := range words[2:] {
			if text, ok := strings.CutPrefix(word, name+"="); ok {
				n, _ := strconv.ParseInt(text, 10, 64) // not a number: zero
				sum += n
			}
		}
	}
	return sum
}

// chunks divide work with an adjustable amount, such as a number of programs, until a time. The first chunk is small, to learn
// the speed. Each later chunk takes a third of the remaining time, down to the least.
type chunks struct {
	first int
	least int
	begun time.Duration // approximate cost of an empty chunk
	speed float64       // per second, of the last chunk
}

// next returns the next chunk's amount; zero if there is no time.
func (c *chunks) next(left time.Duration) int {
	if c.speed == 0 {
		if left <= 0 {
			return 0
		}
		return c.first
	}
	left -= c.begun
	if float64(c.least) > c.speed*left.Seconds() {
		return 0
	}
	if n := int(c.speed * left.Seconds() / 3); n > c.least {
		return n
	}
	return c.least
}

func (c *chunks) each(ctx context.Context, until time.Time, work func(done, amount int) error) error {
	done := 0
	for ctx.Err() == nil {
		amount := c.next(time.Until(until))
		if amount == 0 {
			return nil
		}
		begun := time.Now()
		if err := work(done, amount); err != nil {
			return err
		}
		done += amount
		c.speed = float64(amount) / max(0.001, (time.Since(begun)-c.begun).Seconds())
	}
	return context.Cause(ctx)
}

type fuzzCmd struct {
	Time time.Duration `default:"10m" help:"How long each target runs. Default: 10m."`
}

// Run fuzzes every target, also after a failure.
func (o *fuzzCmd) Run(ctx context.Context) error {
	if o.Time < time.Second {
		return fmt.Errorf("--time is %v; it must be at least 1s", o.Time)
	}
	return within(func(p *workdir) error {
		targets, err := p.listFuzzTargets(ctx)
		if err != nil {
			return err
		}
		var failed error
		for i, f := range targets {
			fmt.Printf("%d of %d: %s of %s, %v\n", i+1, len(targets), f.target, f.name, o.Time)
			var out bytes.Buffer
			err := p.run(ctx, command{args: f.command(o.Time), out: io.MultiWriter(os.Stdout, &out)})
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil && !onlyRanOut(out.String()) {
				failed = errFailed
			}
		}
		return failed
	})
}

type fuzzTarget struct{ name, target string }

var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// listFuzzTargets lists the targets of this module, but not of modules within it.
func (p *workdir) listFuzzTargets(ctx context.Context) (all []fuzzTarget, err error) {
	files, err := p.files(ctx, "*_test.go", ":!adapters/")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range fuzzFunction.FindAllSubmatch(text, -1) {
			all = append(all, fuzzTarget{path.Dir(file), string(found[1])})
		}
	}
	return all, nil
}

// command returns go's arguments. go test fuzzes one target at a time.
func (f fuzzTarget) command(length time.Duration) []string {
	return []string{"go", "test", "-run", "^$", "-fuzz", "^" + f.target + "$", "-fuzztime", length.String(), "-fuzzminimizetime", "10x", "-timeout", "0", "./" + f.name}
}

// onlyRanOut reports whether a target failed only since its time ended in the midst of an input, which go test sometimes reports as
// a failure, without an input.
func onlyRanOut(output string) bool {
	return strings.Contains(output, "\n    context deadline exceeded\n") && !strings.Contains(output, "Failing input written to")
}

// fuzzLeast is the shortest time of a target, in which it is also compiled.
const fuzzLeast = 20 * time.Second

// runFuzz gives as many targets as there is time for the same time. The next night begins with the others. Go keeps what a target
// finds in the package's testdata.
func runFuzz(ctx context.Context, n *night, until time.Time, o *outcome) error {
	targets, err := n.workdir.listFuzzTargets(ctx)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return errors.New("no target of fuzzing was found")
	}
	count := min(max(int(time.Until(until)/fuzzLeast), 1), len(targets))
	var errs []error
	for i := range count {
		f := targets[n.state.Next["fuzz"]%uint64(len(targets))]
		length := (time.Until(until) / time.Duration(count-i)).Truncate(time.Second)
		if length < time.Second {
			o.Notes = append(o.Notes, f.name+" "+f.target+": there was no time for it, the next night begins with it")
			break
		}
		n.state.Next["fuzz"] = (n.state.Next["fuzz"] + 1) % uint64(len(targets))
		errs = append(errs, n.fuzz(ctx, f, length, o))
	}
	return errors.Join(errs...)
}

func (n *night) fuzz(ctx context.Context, f fuzzTarget, length time.Duration, o *outcome) error {
	var out bytes.Buffer
	err := n.workdir.run(ctx, command{args: f.command(length), out: &out})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	execs := int64(0)
	for line := range strings.Lines(out.String()) {
		var elapsed string
		var sofar int64
		if k, _ := fmt.Sscanf(line, "fuzz: elapsed: %s execs: %d", &elapsed, &sofar); k == 2 {
			execs = sofar
		}
	}
	o.Add("inputs of "+f.target+" of "+f.name, execs)
	if err != nil && !onlyRanOut(out.String()) {
		o.Fail(problem{What: f.name + " " + f.target + ": " + firstFailure(out.String(), f.name), Again: rerun(out.String(), f.name, f.target), Output: failedPart(out.String())})
	}
	return nil
}

func rerun(output, name, target string) string {
	for line := range strings.Lines(output) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "go test -run="); ok {
			return "go test -run=" + rest + " ./" + name
		}
	}
	return "go test -run='^" + target + "$' ./" + name
}
