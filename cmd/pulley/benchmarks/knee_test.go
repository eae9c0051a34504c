package benchmarks

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/bench/knee"
	"pulley/cmd/pulley/console"
	"pulley/reports/record"
)

func TestKneeKeepsWhatItHas(t *testing.T) {
	failed := errors.New("the second scheduler cannot be opened")
	for name, c := range map[string]struct {
		found   []record.Knee
		written bool
	}{
		"nothing was found": {nil, false},
		"one was found":     {[]record.Knee{{Scenario: "chain", Size: 2, Backend: "memory", Kind: string(knee.Undecided)}}, true},
	} {
		var printed strings.Builder
		var cmd KneeCmd
		cmd.Out, cmd.Format = t.TempDir(), "text"
		err := cmd.finish(&console.Console{Out: &printed, Err: io.Discard}, &record.KneeReport{Knees: c.found}, failed)
		if !errors.Is(err, failed) {
			t.Errorf("%s: %v", name, err)
		}
		_, missing := os.Stat(filepath.Join(cmd.Out, record.KneeFile))
		if written := missing == nil; written != c.written || strings.Contains(printed.String(), "chain") != c.written {
			t.Errorf("%s: written is %v, want %v; printed %q", name, written, c.written, printed.String())
		}
	}
}
