package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// someTests is a module whose packages pass, fail, panic, read a file, and have no tests. Some are named as [singles], whose
// tests run without the race detector.
var someTests = map[string]string{
	"go.mod":              "module pulley\n\ngo 1.26\n",
	"a/a_test.go":         "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestReads(t *testing.T) {\n\tif _, err := os.ReadFile(\"beside\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n\nfunc TestLeft(t *testing.T) { t.Skip(\"left out\") }\n",
	"a/beside":            "",
	"sim/db/b_test.go":    "package db\n\nimport \"testing\"\n\nfunc TestSub(t *testing.T) {\n\tt.Run(\"no\", func(t *testing.T) { t.Error(\"1, want 2\") })\n}\n\nfunc TestBeside(t *testing.T) {}\n",
	"sim/gantt/c_test.go": "package gantt\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"no\") }\n",
	"d/d.go":              "package d\n",
}

func enterModule(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCompiledTestsRunAsGoTestRunsThem(t *testing.T) {
	enterModule(t, someTests)
	verdicts := func(c *tally) (all []string) {
		for _, r := range slices.Concat(c.Tests, c.Packages) {
			if r.Test != "" || r.Action != skipped { // go test also lists packages without tests
				all = append(all, r.name()+" "+r.Action)
			}
		}
		slices.Sort(all)
		return all
	}
	err := within(func(p *workdir) error {
		packages, err := p.listPackages(t.Context(), nil)
		if err != nil {
			return err
		}
		b, err := p.build(t.Context(), packages)
		if err != nil {
			return err
		}
		var got [2][]string
		for i, by := range []*built{nil, b} {
			c, err := p.testSplit(t.Context(), tests{packages: packages, atOnce: 2, timeout: time.Hour, record: "events.json", built: by})
			if err != nil {
				return err
			}
			got[i] = verdicts(c)
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("go test: %s\nbinaries: %s", got[0], got[1])
		}
		const want = "a TestLeft skip, a TestReads pass, a pass, sim/db TestBeside pass, sim/db TestSub fail, sim/db TestSub/no fail, sim/db fail, " +
			"sim/gantt TestPanics fail, sim/gantt fail"
		if all := strings.Join(got[1], ", "); all != want {
			t.Errorf("%s; want %s", all, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeCompiledIsReported(t *testing.T) {
	enterModule(t, map[string]string{"go.mod": someTests["go.mod"], "e_test.go": "package e\n\nvar x = undefinedName\n"})
	err := within(func(p *workdir) error {
		_, err := p.build(t.Context(), []string{"pulley"})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "undefined: undefinedName") {
		t.Errorf("%v", err)
	}
}

func TestLinesOfSeveralDoNotMix(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	var all sync.WaitGroup
	for _, message := range []string{"a", "b", "c"} {
		all.Go(func() {
			w := &lineWriter{mu: &mu, to: &out}
			for range 200 {
				for _, part := range []string{message, message + message, message + "\n" + message} {
					if _, err := io.WriteString(w, part); err != nil {
						t.Error(err)
					}
				}
			}
			if err := w.end("", true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3*201 {
		t.Errorf("%d lines; want %d", len(lines), 3*201)
	}
	for _, line := range lines {
		if strings.Trim(line, line[:1]) != "" {
			t.Errorf("mixed: %q", line)
		}
	}
}

func TestAnInterruptEndsCompiledTests(t *testing.T) {
	enterModule(t, map[string]string{
		"go.mod":    someTests["go.mod"],
		"e_test.go": "package e\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestLong(t *testing.T) {\n\tfmt.Println(\"begun\")\n\ttime.Sleep(10 * time.Minute)\n}\n",
	})
	err := within(func(p *workdir) error {
		b, err := p.build(t.Context(), []string{"pulley"})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun := &firstWrite{told: cancel}
		err = p.runBinaries(ctx, tests{packages: []string{"pulley"}, atOnce: 1, timeout: time.Hour, built: b}, begun)
		if ctx.Err() == nil || err == nil {
			t.Errorf("%v, and the tests continued", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

type firstWrite struct{ told func() }

func (w *firstWrite) Write(text []byte) (int, error) {
	w.told()
	return len(text), nil
}
