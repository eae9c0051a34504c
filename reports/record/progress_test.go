package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/reports/record"
)

func TestProgressIsReadAsWritten(t *testing.T) {
	dir, rate := t.TempDir(), 2.5
	want := &record.Progress{
		Schema: record.SchemaVersion, Kind: "compare", Command: []string{"pulley"}, PID: 7, StartedAt: time.Unix(1, 0).UTC(), At: time.Unix(2, 0).UTC(), State: record.StateRunning,
		What: "chain", Done: 1, Total: 4, Unit: "runs", RatePerS: &rate, Lines: []string{"one"},
	}
	if err := record.WriteProgress(dir, want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, record.ProgressFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := record.DecodeProgress(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		if err := record.RemoveProgress(dir); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDecodeProgressRejects(t *testing.T) {
	head := `{"schema":8,"kind":"compare","state":"running"`
	for text, want := range map[string]string{
		"":                        "is not what pulley writes",
		"{}":                      "has no schema field",
		`{"schema":99}`:           "is not known here",
		`{"schema":8,"kind":"x"}`: "has the state",
		`{"schema":8}`:            "has no kind",
		head + `,"done":-1}`:      "is -1 of 0",
		head + `,"left_s":-1}`:    "has the figure",
		head + `,"more":1}`:       "does not fit",
		head + `} {}`:             "invalid character",
		head + `,"lines":[` + strings.Repeat(`"",`, 30) + `""]}`: "31 lines",
		head + `,"what":"` + strings.Repeat("x", 1<<20) + `"}`:   "is larger than",
	} {
		if _, err := record.DecodeProgress([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}
