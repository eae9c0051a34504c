package check_test

import (
	"os"
	"slices"
	"testing"
	"time"

	goadapter "pulley/adapter"
	"pulley/adapter/check"
	"pulley/adapter/own"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// designVariable makes the test binary the adapter of a design of ours.
const designVariable = "PULLEY_TEST_DESIGN"

func runOwn(design string) {
	system, err := own.New(design, "1")
	if err != nil {
		panic(err)
	}
	goadapter.Main(system)
}

// TestOwnDesigns checks our designs as other systems are checked: one before a change, all in a night.
func TestOwnDesigns(t *testing.T) {
	depth.Needs(t, "other processes")
	for _, d := range designs.Durable() {
		design := d.String()
		if design != "push" && !depth.Night() {
			continue
		}
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			r, err := check.Run(t.Context(), check.Options{
				Command: []string{"env", designVariable + "=" + design, os.Args[0]}, DSN: pgtest.DSN(t), Timeout: 2 * time.Minute,
				Settings: map[string]string{"lease_ms": "2000"}, Log: func(line string) { t.Log(line) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Error(f)
			}
			if want := []string{"order: the adapter does not promise it"}; !slices.Equal(r.LeftOut, want) {
				t.Errorf("left out is %q, want %q", r.LeftOut, want)
			}
		})
	}
}
