package differ_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/differ"
	"pulley/engine/ir/programs"
	"pulley/internal/depth"
)

// linesMax bounds the lines of a nightly program that shows a planted bug, after full shrinking; the seed is fixed, since the
// result depends on the start.
const linesMax = 12

var indent = regexp.MustCompile(`(?m)^ +`)

func withoutIndent(text string) string { return indent.ReplaceAllString(text, "") }

// TestPlantedBugs checks that each planted bug is found, shrunk to a few lines, saved, and shown again by the printed command,
// from the file alone. Before each change it only finds one bug and shrinks it briefly.
func TestPlantedBugs(t *testing.T) {
	depth.Needs(t, "a second process")
	if *caseFile != "" || *count > programsMemory {
		t.Skip("one case, or a soak, is asked for")
	}
	for _, d := range depth.Of(planted()[:1], planted()) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := fails(t, "-test.run=^TestPrograms$", "-backends="+d.name, "-cases="+dir, "-rapid.shrinktime="+depth.Of("1s", "2m"), "-rapid.seed=1")
			command := regexp.MustCompile(`go test \./engine/backend/differ -run '(.*)' -case (\S+)\n`).FindStringSubmatch(out)
			if command == nil {
				t.Fatalf("no command is printed:\n%s", out)
			}
			c, err := differ.Load(filepath.Join(dir, "new-"+d.name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(withoutIndent(out), withoutIndent(c.Source)) {
				t.Errorf("the program is not printed:\n%s", out)
			}
			if lines := strings.Count(c.Source, "\n"); lines > linesMax && depth.Night() {
				t.Errorf("shrunk to %d lines only:\n%s", lines, c.Source)
			}
			if again := fails(t, "-test.run="+command[1], "-case="+command[2]); !strings.Contains(again, c.Why) {
				t.Errorf("the case fails in another way:\n%s\nwhy: %s", again, c.Why)
			}
		})
	}
}

func fails(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Args[0], args...).CombinedOutput()
	if _, failed := err.(*exec.ExitError); !failed {
		t.Fatalf("%s did not fail (%v):\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// handsOutTwice hands out a task twice, with another token, like a store that enqueues a node run twice.
type handsOutTwice struct{ backend.Backend }

func (b handsOutTwice) Submit(ctx context.Context, subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
	out, err := b.Backend.Submit(ctx, subs, g)
	if len(out.Tasks) > 0 {
		again := out.Tasks[0]
		again.Lease.Token++
		out.Tasks = append(out.Tasks, again)
	}
	return out, err
}

func TestHandedOutTwice(t *testing.T) {
	s := onMemory(t)
	s.Backend = handsOutTwice{s.Backend}
	c := differ.Case{Program: programs.Program{Source: "fn main(input: [], output: [r]):\n    r = @double(value=2)\n", Input: json.RawMessage(`{}`)}}
	if _, err := differ.Run(t.Context(), c, s); err == nil || !strings.Contains(err.Error(), "double was handed out to conductor twice at once") {
		t.Errorf("a task that was handed out twice: %v", err)
	}
	if _, err := differ.Run(t.Context(), c, onMemory(t)); err != nil {
		t.Error(err)
	}
}
