package claims_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench/claim"
	"pulley/bench/claims"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The shortest experiments of each kind must measure on a real server; what they find does not matter. At night they are as
// large as a user's quick ones, and include the one that builds a program.
func TestMeasure(t *testing.T) {
	only := []string{"growth", "memory", "dispatch", "linear-loop", "join", "drop", "burst", "limits"}
	if depth.Night() {
		only = append(only, "tasks")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var lines []string
	cfg := claims.Config{
		DSN: pgtest.DSN(t), Way: pgtest.Server(t).Describe(), Only: only, Runs: 1, Quick: true,
		Progress: func(line string) { lines = append(lines, line) },
	}
	found, err := claims.Measure(ctx, depth.Of(cfg.Least(), cfg))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(only) {
		t.Fatalf("%d claims; want one for each of %q", len(found), only)
	}
	for i, c := range found {
		if !measured(c) || c.ID != only[i] || c.Verdict == claim.Unmeasured || !strings.HasSuffix(c.Command, "--only "+only[i]+" --quick") {
			t.Errorf("%+v", c)
		}
	}
	if len(lines) < len(only) {
		t.Errorf("progress: %q", lines)
	}
	var text strings.Builder
	if err := claim.WriteText(&text, found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"growth: ", "  source    Unified Readiness Model", "exponent of rows written, push: ", "again     pulley claims --only growth --quick"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	// The cost of push's completions does not grow with the workflow, in any environment.
	for _, f := range found[0].Figures {
		if !ofOthersToo(f) && (f.Median == nil || *f.Median > 1.2) {
			t.Errorf("%s: %+v", f.Name, f)
		}
	}
}

// ofOthersToo reports whether a figure is an exponent of time or WAL, to which other work on the machine and the server
// contributes. Where that is large, such a cost may even fall as a workflow grows, and has no exponent.
func ofOthersToo(f claim.Figure) bool {
	return strings.Contains(f.Name, "exponent") && (strings.Contains(f.Name, "time") || strings.Contains(f.Name, "WAL"))
}

func measured(c claim.Claim) bool {
	return len(c.Figures) > 0 && !slices.ContainsFunc(c.Figures, func(f claim.Figure) bool {
		return f.Verdict == claim.Unmeasured && !ofOthersToo(f) && f.Note != claims.NoExponent
	})
}

// Memory claims must be measured in a separate process, if there is one.
func TestProcessOfItsOwn(t *testing.T) {
	var asked []string
	found, err := claims.Measure(t.Context(), claims.Config{
		DSN: "none", Only: []string{"memory"},
		Fresh: func(_ context.Context, name string) ([]claim.Claim, error) {
			asked = append(asked, name)
			return []claim.Claim{{ID: "from there"}}, nil
		},
	})
	if err != nil || len(asked) != 1 || len(found) != 1 || found[0].ID != "from there" {
		t.Errorf("asked for %q, found %+v, %v", asked, found, err)
	}
}

func TestWhatCannotBeMeasured(t *testing.T) {
	found, err := claims.Measure(t.Context(), claims.Config{DSN: "host=/nowhere port=1", Only: []string{"growth"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Measured() || found[0].Verdict != claim.Unmeasured || found[0].Why == "" {
		t.Errorf("%+v", found)
	}
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := claims.Measure(ctx, claims.Config{DSN: pgtest.DSN(t)}); err == nil {
		t.Errorf("%+v", found)
	}
}

func TestCheckRefuses(t *testing.T) {
	for want, cfg := range map[string]claims.Config{
		`no experiment "growht"`: {Only: []string{"growht"}},
		"-1 runs":                {Runs: -1},
		"101 runs":               {Runs: 101},
	} {
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if err := (claims.Config{Only: []string{"growth", "hop"}}).Check(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"speedup", "loop", "growth", "throughput", "memory", "dispatch", "linear", "engines", "hop"} {
		if !strings.Contains(claims.Help(), name) {
			t.Errorf("the help lacks %s", name)
		}
	}
}

// TestPlan checks that every experiment has an estimate, that estimates grow with repetitions, and that the rest is corrected by
// what finished experiments took.
func TestPlan(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(claims.Help()) {
		name := strings.Fields(line)[0]
		for _, quick := range []bool{true, false} {
			n, once, err := claims.Config{Only: []string{name}, Runs: 1, Quick: quick}.Plan()
			if err != nil || n != 1 || once <= 0 {
				t.Fatalf("%s: %d experiments, %v, %v", name, n, once, err)
			}
			if _, thrice, _ := (claims.Config{Only: []string{name}, Runs: 3, Quick: quick}).Plan(); thrice != 3*once {
				t.Errorf("%s: %v once, and %v three times", name, once, thrice)
			}
		}
	}
	rest := claims.Countdown(100*time.Second, 20*time.Second)
	if got := rest(40 * time.Second); got != "about 2m40s left" { // it takes twice as long as estimated
		t.Error(got)
	}
}
