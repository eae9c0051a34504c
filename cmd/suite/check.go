package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/internal/depth"
)

type checkCmd struct{}

// Run takes the steps in order, and continues after a failure.
func (checkCmd) Run(ctx context.Context) error {
	return within(func(p *workdir) error {
		steps := append(p.readingSteps(), step{"tests", p.testAlone})
		var failed []string
		for _, s := range steps {
			begun := time.Now()
			err := s.do(ctx)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			word := "ok"
			if err != nil {
				word, failed = "FAIL", append(failed, s.name)
				fmt.Println(err)
			}
			fmt.Printf("%-5s %7.1f s  %s\n", word, time.Since(begun).Seconds(), s.name)
		}
		if len(failed) > 0 {
			fmt.Printf("\nNOT GREEN: %s\n", strings.Join(failed, ", "))
			return errFailed
		}
		fmt.Println("\ngreen")
		return nil
	})
}

type step struct {
	name string
	do   func(context.Context) error
}

func (p *workdir) readingSteps() []step {
	return []step{{"format", p.checkFormat}, {"vet", p.vet}, {"lint", p.lint}, {"shell scripts", p.checkScripts}}
}

func (p *workdir) runSilently(ctx context.Context, args ...string) error {
	var out bytes.Buffer
	if err := p.run(ctx, command{args: args, out: &out}); err != nil {
		return fmt.Errorf("%s%s: %w", out.String(), args[0], err)
	}
	return nil
}

// checkFormat checks git's files, including untracked ones.
func (p *workdir) checkFormat(ctx context.Context) error {
	files, err := p.files(ctx, "*.go")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := p.run(ctx, command{args: append([]string{"gofmt", "-l"}, files...), out: &out}); err != nil {
		return fmt.Errorf("%sgofmt: %w", out.String(), err)
	}
	if out.Len() > 0 {
		return fmt.Errorf("these files are not formatted, run gofmt -w on them:\n%s", out.String())
	}
	return nil
}

func (p *workdir) files(ctx context.Context, patterns ...string) ([]string, error) {
	var out, problems bytes.Buffer
	args := append([]string{"git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}, patterns...)
	if err := p.run(ctx, command{args: args, out: &out, err: &problems}); err != nil {
		return nil, fmt.Errorf("git ls-files: %w: %s", err, problems.String())
	}
	var files []string
	for file := range strings.Lines(out.String()) {
		file = strings.TrimSpace(file)
		if _, err := os.Stat(file); err == nil { // git lists removed, uncommitted files
			files = append(files, file)
		}
	}
	return files, nil
}

func (p *workdir) vet(ctx context.Context) error { return p.runSilently(ctx, "go", "vet", "./...") }

const (
	linter        = "golangci-lint"
	linterModule  = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
	linterVersion = "v2.15.0"
	toolsDir      = "out/tools"
)

func (p *workdir) lint(ctx context.Context) error {
	program, err := p.needLinter(ctx)
	if err != nil {
		return err
	}
	return p.runSilently(ctx, program, "run", "--allow-parallel-runners")
}

// needLinter builds the linter if needed, which takes minutes once.
func (p *workdir) needLinter(ctx context.Context) (string, error) {
	if installed, err := exec.LookPath(linter); err == nil {
		return installed, nil
	}
	tools, err := filepath.Abs(filepath.Join(toolsDir, linterVersion))
	if err != nil {
		return "", err
	}
	program := filepath.Join(tools, linter)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Printf("building %s %s, once\n", linter, linterVersion)
	var out bytes.Buffer
	build := command{args: []string{"go", "install", linterModule + "@" + linterVersion}, env: map[string]string{"GOBIN": tools, "GOFLAGS": ""}, out: &out}
	if err := p.run(ctx, build); err != nil {
		return "", fmt.Errorf("%sbuilding %s: %w", out.String(), linter, err)
	}
	return program, nil
}

func (p *workdir) checkScripts(ctx context.Context) error {
	program, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("CI") == "true" {
			return fmt.Errorf("reading the scripts: %w: install the package shellcheck", err)
		}
		fmt.Println("shellcheck is not installed: scripts are not read")
		return nil
	}
	files, err := p.files(ctx, "*.sh", ".ci/run")
	if err != nil {
		return err
	}
	return p.runSilently(ctx, append([]string{program}, files...)...)
}

// serverPackage is imported by tests that need a Postgres, or start processes around one.
const serverPackage = "pulley/engine/pgserver"

// mixed are packages in which only some tests need a server or a second process, and declare it.
var mixed = []string{
	"pulley/engine/backend/differ", "pulley/sim/pgsim/push", "pulley/sim/pgsim/eager", "pulley/sim/pgsim/pull", "pulley/sim/pgsim/journal",
}

// others start processes, but no server.
var others = []string{"pulley/chaos/mutants", "pulley/cmd/suite"}

func (p *workdir) testAlone(ctx context.Context) error {
	packages, err := p.alone(ctx)
	if err != nil {
		return err
	}
	t, err := p.test(ctx, tests{
		packages: packages, atOnce: processors(), timeout: 10 * time.Minute,
		env: map[string]string{depth.AloneVariable: "1"},
	})
	if err != nil {
		return err
	}
	if !t.green() {
		printFailures(os.Stdout, t)
		return errors.New("tests failed")
	}
	printChecked(os.Stdout, t)
	return nil
}

func printChecked(w io.Writer, t *tally) {
	ran, left := 0, 0
	for _, r := range t.Tests {
		switch r.Action {
		case passed:
			ran++
		case skipped:
			left++
		}
	}
	fmt.Fprintf(w, "%d packages, %d tests; %d more need a server or a second process: make test runs them\n", len(t.Packages), ran, left)
}

// alone lists the packages whose tests import nothing that starts a server, and the mixed ones.
func (p *workdir) alone(ctx context.Context) ([]string, error) {
	tested, err := p.describe(ctx, "-test", "-json=ImportPath,Deps", "./...")
	if err != nil {
		return nil, err
	}
	all, served := map[string]bool{}, map[string]bool{}
	for _, l := range tested {
		name, _, _ := strings.Cut(l.ImportPath, " ")
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".test"), "_test")
		all[name] = true
		if slices.ContainsFunc(l.Deps, func(d string) bool { return strings.HasPrefix(d, serverPackage) }) || slices.Contains(others, name) {
			served[name] = true
		}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !served[name] || slices.Contains(mixed, name) {
			found = append(found, name)
		}
	}
	return found, nil
}
