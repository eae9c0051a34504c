package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

type mutant struct {
	Name       string // of another project's bug: project-number-what
	What       string
	Edits      []edit
	Check      check
	Invariant  string
	Says       string // pattern in the failing check's output; a chaos case needs only the invariant
	Equivalent string // why it has no visible effect, so that it does not run

	Sim []search // designs whose simulation runs its code
}

type edit struct {
	File string // from the module's root
	Old  string // occurs exactly once
	New  string
}

type check struct {
	Package string
	Run     string // as for go test -run
	Args    []string
	Case    string // a file of testdata, instead of a test
	Seeds   int    // of the case, tried until one finds the mutant; at least one
}

func (c check) command() string {
	if c.Case != "" {
		return "go run ./cmd/pulley chaos --replay chaos/mutants/testdata/" + c.Case
	}
	return strings.Join(append([]string{"go test ./" + c.Package + " -run '" + c.Run + "'"}, c.Args...), " ")
}

func table() []mutant {
	return slices.Concat(coreMutants(), storeMutants(), pushMutants(), engineMutants(), otherEngineMutants())
}

func (m mutant) validate(root string) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("mutant %s: "+format, append([]any{m.Name}, args...)...))
	}
	if m.Name == "" || m.What == "" || m.Invariant == "" || len(m.Edits) == 0 {
		bad("needs a name, a description, an invariant and an edit")
	}
	if (m.Check.Case == "") == (m.Check.Package == "" || m.Check.Run == "") {
		bad("needs a test or a chaos case")
	}
	if m.Check.Case == "" && m.Says == "" {
		bad("needs words that the failing test must say")
	}
	if m.Check.Case != "" {
		if _, err := os.Stat(casePath(root, m.Check.Case)); err != nil {
			bad("%w", err)
		}
	}
	if _, err := regexp.Compile(m.Says); err != nil {
		bad("%w", err)
	}
	if _, err := m.mutated(root); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func casePath(root, name string) string {
	return filepath.Join(root, "chaos", "mutants", "testdata", name)
}

func (m mutant) mutated(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		text, known := texts[e.File]
		if !known {
			content, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("mutant %s: what it replaces stands %d times in %s, must be once; bring it up to date:\n%s", m.Name, n, e.File, e.Old)
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
		if e.Old == e.New {
			return nil, fmt.Errorf("mutant %s: an edit of %s changes nothing", m.Name, e.File)
		}
	}
	return texts, nil
}
