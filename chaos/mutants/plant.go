package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// planter builds and runs mutants.
type planter struct {
	root string // of the module
	dir  string // for what is written; it is removed at the end
	race bool   // tests are built with the race detector

	lingers time.Duration // how long a check may go on after it has said what it must

	mu     sync.Mutex
	builds map[string]*build // of the code as it is, by what is built
}

// build is a program, made once.
type build struct {
	once sync.Once
	path string
	err  error
}

// buildWithin and checkWithin bound a build and a check.
const (
	buildWithin = 10 * time.Minute
	checkWithin = 5 * time.Minute
)

// target is what must be built for a check.
func (c check) target() string {
	if c.Case != "" {
		return "cmd/pulley"
	}
	return c.Package
}

// overlay writes the mutant's files and gives the file that tells the go command of them.
func (p *planter) overlay(m mutant) (string, error) {
	texts, err := m.mutated(p.root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(p.dir, m.Name)
	replace := map[string]string{}
	for file, text := range texts {
		to := filepath.Join(dir, "files", file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(p.root, file)] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o644)
}

// buildProgram builds a check's program, with an overlay unless that is empty.
func (p *planter) buildProgram(ctx context.Context, c check, name, overlay string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildWithin)
	defer cancel()
	out := filepath.Join(p.dir, name, "program")
	args := []string{"build"}
	if c.Case == "" {
		args = []string{"test", "-c", "-vet=off"}
		if p.race {
			args = append(args, "-race")
		}
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, "./"+c.target())...)
	cmd.Dir, cmd.Env = p.root, append(os.Environ(), "TMPDIR="+p.dir) // where the go command leaves nothing, should it be killed
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endsWithin
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build: %w\n%s", name, err, text)
	}
	return out, nil
}

// plain gives a check's program as it is, which several checks may share.
func (p *planter) plain(ctx context.Context, c check) (string, error) {
	p.mu.Lock()
	b := p.builds[c.target()]
	if b == nil {
		b = &build{}
		p.builds[c.target()] = b
	}
	p.mu.Unlock()
	b.once.Do(func() { b.path, b.err = p.buildProgram(ctx, c, "plain-"+strings.ReplaceAll(c.target(), "/", "-"), "") })
	return b.path, b.err
}

// finding is how a check ended.
type finding struct {
	failed    bool
	names     []string // of the tests that failed, or of the invariants
	text      string   // all that it said
	cases     string   // after how many programs or instances
	seconds   float64
	seed      int // of the case that found it
	undecided string
}

// run runs a check's program. It need not go on once it has said the words, if there are any.
func (p *planter) run(ctx context.Context, c check, words *regexp.Regexp, program string) (finding, error) {
	dir, err := os.MkdirTemp(p.dir, "check-")
	if err != nil {
		return finding{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkWithin+time.Minute)
	defer cancel()
	if c.Case != "" {
		return p.runCase(ctx, c, program, dir)
	}
	return p.runTest(ctx, c, words, program, dir)
}

func (p *planter) runTest(ctx context.Context, c check, words *regexp.Regexp, program, dir string) (finding, error) {
	args := []string{"-test.v", "-test.failfast", "-test.timeout=" + checkWithin.String(), "-test.run=" + c.Run}
	for _, a := range c.Args {
		args = append(args, strings.ReplaceAll(a, "DIR", dir))
	}
	r, err := p.output(ctx, words, filepath.Join(p.root, c.Package), program, args...)
	f := finding{failed: err != nil, text: r.text, seconds: r.after.Seconds(), names: failedTests(r.text), cases: triedOf(r.text)}
	if r.ended && len(f.names) == 0 {
		f.names = []string{r.by}
	}
	var exit *exec.ExitError
	if err != nil && !r.ended && !errors.As(err, &exit) {
		return f, fmt.Errorf("%s: %w", c.command(), err)
	}
	if strings.Contains(r.text, "testing: warning: no tests to run") {
		return f, fmt.Errorf("%s runs no test", c.command())
	}
	return f, nil
}

// runCase runs a chaos case, with as many seeds as it takes.
func (p *planter) runCase(ctx context.Context, c check, program, dir string) (finding, error) {
	began, instances := time.Now(), 0
	var f finding
	for seed := 1; seed <= max(c.Seeds, 1); seed++ {
		file, err := p.seeded(c, dir, seed)
		if err != nil {
			return f, err
		}
		r, err := p.output(ctx, nil, p.root, program, "chaos", "--replay", file, "--format", "json", "--shrink", "0", "--out", dir)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return f, fmt.Errorf("%s: %w", c.command(), err)
		}
		verdict, err := readVerdict(dir)
		if err != nil {
			return f, fmt.Errorf("%s: %w\n%s", c.command(), err, r.text)
		}
		instances += verdict.Instances
		f = finding{
			failed: verdict.Verdict == "fail", names: verdict.invariants(), text: verdict.text(), seconds: time.Since(began).Seconds(),
			cases: fmt.Sprintf("%d instances", instances), seed: seed,
		}
		if verdict.Verdict == "inconclusive" {
			f.undecided = strings.Join(verdict.Why, "; ")
		}
		if f.failed {
			break
		}
	}
	return f, nil
}
