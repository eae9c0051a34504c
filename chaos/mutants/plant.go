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

type planter struct {
	root string
	dir  string // for output; removed at the end
	race bool

	lingers time.Duration // how long a check may continue after its words

	mu     sync.Mutex
	builds map[string]*build
}

type build struct {
	once sync.Once
	path string
	err  error
}

const (
	buildWithin = 10 * time.Minute
	checkWithin = 5 * time.Minute
)

func (c check) target() string {
	if c.Case != "" {
		return "cmd/pulley"
	}
	return c.Package
}

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
	cmd.Dir, cmd.Env = p.root, append(os.Environ(), "TMPDIR="+p.dir) // a killed go command leaves its files there
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endsWithin
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build: %w\n%s", name, err, text)
	}
	return out, nil
}

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

type finding struct {
	failed    bool
	names     []string
	text      string
	cases     string // how many programs or instances it took
	seconds   float64
	seed      int
	undecided string
}

// run runs a check's program. With words, it may end the check once they are printed.
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
