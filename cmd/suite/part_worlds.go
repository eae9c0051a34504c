package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
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

var fuzzed = []struct{ name, target string }{{"engine/ir", "FuzzParse"}, {"engine/graph", "FuzzCompile"}}

// runFuzz gives each target the same time. Go keeps what a target finds in the package's testdata.
func runFuzz(ctx context.Context, n *night, until time.Time, o *outcome) error {
	var errs []error
	for i, f := range fuzzed {
		length := (time.Until(until) / time.Duration(len(fuzzed)-i)).Truncate(time.Second)
		if length < 5*time.Second {
			o.Notes = append(o.Notes, f.target+": there was no time for it")
			continue
		}
		errs = append(errs, n.fuzz(ctx, f.name, f.target, length, o))
	}
	return errors.Join(errs...)
}

func (n *night) fuzz(ctx context.Context, name, target string, length time.Duration, o *outcome) error {
	var out bytes.Buffer
	args := []string{"go", "test", "-run", "^$", "-fuzz", "^" + target + "$", "-fuzztime", length.String(), "-fuzzminimizetime", "10x", "-timeout", "0", "./" + name}
	err := n.workdir.run(ctx, command{args: args, out: &out})
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
	o.Add("inputs of "+target, execs)
	if err != nil {
		o.Fail(problem{What: target + ": " + firstFailure(out.String(), name), Again: rerun(out.String(), name, target), Output: failedPart(out.String())})
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
