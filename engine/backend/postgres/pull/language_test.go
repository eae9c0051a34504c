package pull_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

func alone(t *testing.T, scan pull.Scan) postgres.Config {
	t.Helper()
	return designtest.SharedConfig(t, "pull:scan="+string(scan), 1)
}

func both(t *testing.T, test func(t *testing.T, cfg postgres.Config, scan pull.Scan)) {
	t.Helper()
	for _, scan := range []pull.Scan{pull.ScanApp, pull.ScanSQL} {
		t.Run(string(scan), func(t *testing.T) {
			test(t, alone(t, scan), scan)
		})
	}
}

func actions() map[string]backendtest.Func {
	out := maps.Clone(backendtest.Actions())
	out[""] = func(json.RawMessage, int) (json.RawMessage, *plan.Failure) { return json.RawMessage("null"), nil }
	return out
}

// contended are programs with conflicting runs: errors beside open runs, elements that wait for others, loops in branches.
var contended = []struct{ name, source, gives string }{
	{"errors beside others", `
fn part(input: [k, i], output: [r]):
    r = @double(value=i)
    if i == k:
        @fail(type="Odd", message="k")
    r = @double(value=r)

fn main(input: [n], output: [out]):
    out = []
    for k in range(n):
        try:
            xs = spread range(6):i limit 3 -> part(k=k * 2, i=i)
            out = out + [xs]
        except Odd as e:
            out = out + [e["message"]]
`, `["k","k","k",[0,4,8,12,16,20]]`},
	{"several errors at once", `
fn bad(input: [i], output: [r]):
    r = @echo(value=i)
    @fail(type="Bad", message="all the same")

fn main(input: [n], output: [out]):
    out = []
    for k in range(n):
        try:
            xs = spread range(5):i -> bad(i=i)
        except Bad as e:
            x = @echo(value=e["message"])
            out = out + [x + str(k)]
`, `["all the same0","all the same1","all the same2","all the same3"]`},
	{"loops in branches", `
fn walk(input: [i], output: [seen]):
    seen = []
    for j in range(i):
        x = @add(a=i, b=j)
        if x == 5:
            continue
        try:
            if x == 4:
                @fail(type="Four", message="4")
            seen = seen + [x]
        except Four as e:
            sleep 0.001
            seen = seen + [e["message"]]

fn main(input: [n], output: [out]):
    a, b = parallel:
        walk(i=n)
        walk(i=2)
    c = spread [3, 0, 1]:i limit 2 -> walk(i=i)
    out = [a, b, c]
`, `[["4",6,7],[2,3],[[3,"4"],[],[1]]]`},
	{"branches without actions", `
fn inline(input: [i], output: [r]):
    r = i + 1

fn main(input: [n], output: [out]):
    a = spread range(n):i -> inline(i=i)
    x = @echo(value=a)
    b = spread x:i limit 2 -> inline(i=i)
    c, d = parallel:
        inline(i=b[0])
        inline(i=b[1])
    out = [a, b, c, d]
`, `[[1,2,3,4],[2,3,4,5],3,4]`},
	{"a list that grows and is read", `
fn main(input: [n], output: [out]):
    out = ["first"]
    for i in range(20):
        x = @echo(value=i)
        out = out + [x]
        if i == 10:
            y = @echo(value=out[-1])
            out = [len(out), y]
`, `[12,10,11,12,13,14,15,16,17,18,19]`},
}

// TestContended drives programs with several workers in two processes, in changing orders, some of which lose leases. It checks
// that each has one result and that no rows are left.
func TestContended(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		ctx, cancel := context.WithTimeout(t.Context(), drivePatience)
		defer cancel()
		b, peer := open(t, cfg, scan), open(t, cfg, scan)
		for seed := range depth.Of[uint64](1, 8) {
			var subs []backend.Submission
			want := map[uuid.UUID]string{}
			for _, p := range contended {
				program := backendtest.MustCompile(t, p.source)
				for range 2 {
					sub := backend.Submission{ID: uuid.New(), Program: program, Input: json.RawMessage(`{"n": 4}`)}
					subs = append(subs, sub)
					want[sub.ID] = p.name + ": completed " + p.gives
				}
			}
			rec, err := backendtest.Drive(ctx, b, subs, backendtest.DriveConfig{
				Actions: actions(), Peers: []backend.Backend{peer}, Workers: 4, Max: 6, Seed: seed + 1, Lease: 300 * time.Millisecond,
				Lose: func(t backend.Task) bool { return t.Attempt == 1 && t.Lease.Token%41 == 0 },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, sub := range subs {
				in := rec.Instances[sub.ID]
				got := fmt.Sprintf("%s: %s %s", contended[i/2].name, in.Status, in.Result)
				if got != want[sub.ID] {
					t.Errorf("seed %d: %s, %+v\nwant %s", seed, got, in.Failure, want[sub.ID])
				}
			}
		}
		left, err := b.Leftovers(ctx)
		if err != nil || len(left) > 0 {
			t.Errorf("left of ended instances: %v, %v", left, err)
		}
	})
}
