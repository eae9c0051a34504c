package claims_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench/claim"
	"pulley/bench/claims"
	"pulley/bench/systems"
	"pulley/internal/pgtest"
)

// A system in memory is measured beside ours, for one of which another stands, and beside figures of systems that are not here.
func TestPeers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	memory, err := systems.Greet(ctx, "", []string{"python3", filepath.Join("..", "systems", "testdata", "memory.py")})
	if err != nil {
		t.Fatal(err)
	}
	memory.Settings = map[string]string{"pause_ms": "0"}
	push := memory
	push.Name = "push"
	cfg := claims.Config{
		DSN: pgtest.DSN(t), Way: pgtest.Server(t).Describe(), Only: []string{"point-writes", "jobs"}, Runs: 1,
		Systems: []systems.System{push, memory}, Asked: []string{"river", "exec:python3 memory.py"}, Missing: map[string]string{"river": "no program"},
	}
	found, err := claims.Measure(ctx, cfg.Least())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range found {
		ids = append(ids, c.ID)
		if !c.Measured() {
			t.Errorf("%s is not measured: %s", c.ID, c.Why)
		}
	}
	if want := []string{"dbos-point-writes", "river-jobs", "graphile-jobs", "graphile-unbatched", "oban-jobs", "jobs-memory"}; !slices.Equal(ids, want) {
		t.Fatalf("claims %q", ids)
	}
	var text strings.Builder
	if err := claim.WriteText(&text, found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"dbos-point-writes: compared\n", "river-jobs: ours only\n", "jobs-memory: compared\n", "Not measured: no program.",
		"push by core here / published by core: ", "memory, through the adapter: ", "memory / push, through the adapter: ",
		"--only jobs --quick --systems river --systems 'exec:python3 memory.py'",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), strings.TrimSpace(want)) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

func TestSystemsAreRefusedWithoutPeers(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]claims.Config{
		"systems are measured only where": {Systems: []systems.System{{Name: "river"}}},
		"not measured together":           {Goals: true, Peers: true},
	} {
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	n, once, err := claims.Config{Peers: true, Runs: 1}.Plan()
	_, more, _ := claims.Config{Peers: true, Runs: 1, Systems: []systems.System{{}}, Tune: true}.Plan()
	if err != nil || n != 4 || more <= once {
		t.Errorf("%d experiments, %v, and %v with a system, %v", n, once, more, err)
	}
}

// The page on comparing has each published figure with its source.
func TestPublishedFiguresAreOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "comparing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for id, p := range claims.PeerFigures {
		row := slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "|") && strings.Contains(line, p.Address) && strings.Contains(line, claim.Number(p.Figure))
		})
		if !row {
			t.Errorf("%s: no row has %s and %s", id, claim.Number(p.Figure), p.Address)
		}
	}
}
