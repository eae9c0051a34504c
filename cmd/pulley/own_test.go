package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/reports/record"
)

const ownOrders = `about: Orders that are charged, reserved and mailed.
program: orders.ir
parameters: {lines: 3}
sizes: {means: orders, default: [2, 4]}
variants: 8
input:
  orders: "= [{'id': instance * 100 + i, 'lines': lines} for i in range(size)]"
actions:
  charge:
    service: lognormal:2ms,0.5
    fails: {share: 1%, type: Network, message: connection reset}
    gives: "= {'id': order['id'], 'paid': True}"
  reserve:
    service: exp:1ms
    fails: {share: 1%, type: Empty, message: out of stock}
  mail: {payload: uniform:100B..400B}
arrivals: poisson:200/s
`

const ownProgram = `fn handle(input: [order], output: [done]):
    receipt = @charge(order=order) [Network -> retry: 5, backoff: 1ms]
    try:
        stock = spread range(order["lines"]):line -> @reserve(id=order["id"], line=line)
    except Empty as e:
        stock = e["message"]
    mailed = @mail(receipt=receipt, stock=stock)
    return [stock, mailed]

fn main(input: [orders], output: [done]):
    done = spread orders:order -> handle(order=order)
    return done
`

func ownScenario(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"orders.yaml": ownOrders, "orders.ir": ownProgram} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "orders.yaml")
}

func TestOwnScenarioIsCompared(t *testing.T) {
	t.Parallel()
	file, out := ownScenario(t), t.TempDir()
	got := runForRaces(t, "compare", file+"=2,3", "chain=3", "--set", "lines=2", "--backends", "memory,push:connections=2", "--runs", "2",
		"--min-nodes", "100", "--in-flight", "4", "--no-ceiling", "--out", out)
	if got.code != 0 {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	m, err := record.ReadManifest(filepath.Join(out, record.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Samples) != 3*2*2 || m.Cases[0].Scenario != "orders" || m.Cases[0].Source != file || m.Cases[1].Size != 3 || m.Cases[2].Scenario != "chain" {
		t.Errorf("%d samples of %+v", len(m.Samples), m.Cases)
	}
	for _, s := range m.Samples {
		if !s.Valid {
			t.Errorf("%s: %q", s.Key(), s.Warnings)
		}
	}
}

// The case runs again after the scenario's files were removed.
func TestOwnScenarioInChaos(t *testing.T) {
	t.Parallel()
	file, out := ownScenario(t), t.TempDir()
	got := run(t, "chaos", file+"=2", "--set", "lines=2", "--faults", "wire.cut,process.kill", "--duration", "0s", "--lease", "1s",
		"--in-flight", "3", "--shrink", "0", "--out", out)
	if got.code != 0 || !strings.Contains(got.out, "pass: push") {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	got = run(t, "chaos", "--replay", filepath.Join(out, "case.json"), "--shrink", "0", "--out", filepath.Join(out, "again"))
	if got.code != 0 || !strings.Contains(got.out, "pass: push") {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
}

// The case of the planted bug runs again after the scenario's files were removed.
func TestOwnScenarioIsSimulated(t *testing.T) {
	t.Parallel()
	file, out := ownScenario(t), t.TempDir()
	f, _ := forecasted(t, file, "--workers", "8", "--runs", "2")
	if f.Scenario != "orders=2" || f.Instances != 1000 || f.Arrivals != "poisson:200/s" || f.Completed != 1000 ||
		strings.Join(f.Service, " ") != "charge=lognormal:2ms,0.5 reserve=exp:1ms" {
		t.Errorf("%+v", f)
	}
	// 1,000 instances of two orders, each with a charge of 2 ms · e^(1/8) and, but for some that fail, three reserves of 1 ms.
	if work := f.WorkMS.Median; work < 2000*(2.1+2.8) || work > 2000*(2.5+3.2) {
		t.Errorf("%v ms of work", work)
	}
	plain, _ := forecasted(t, file+"=4", "--workers", "8", "--runs", "1", "--service", "const:1ms", "--arrivals", "closed:2", "--instances", "20")
	if plain.Service[0] != "const:1ms" || plain.Instances != 20 || plain.InSystem.Median > 2 {
		t.Errorf("%+v", plain)
	}
	if got := call(t, nil, "sim", file, "--seeds", fmt.Sprintf("0..%d", depth.Of(8, 40)), "--out", out); got.code != 0 {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	got := call(t, nil, "sim", file, "--bug", "token-ignored", "--seeds", "0..2000", "--shrink", "200ms", "--out", out)
	if got.code != console.ExitFailed || !strings.Contains(got.out, "violation, seed") {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	got = call(t, nil, "sim", "--replay", filepath.Join(out, "case.json"))
	if got.code != console.ExitFailed || !strings.Contains(got.out, "\nI3: ") {
		t.Errorf("exit status %d: %.300s%s", got.code, got.out, got.err)
	}
}

func TestOwnScenarioRefused(t *testing.T) {
	t.Parallel()
	file := ownScenario(t)
	if err := os.WriteFile(file, []byte("abuot: x\nprogram: orders.ir\nactions: {charge: {service: soon}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(filepath.Dir(file), "orders.ir") + ":4:54: @reserve is no action; ",
		file + `:1:1: a scenario has no key "abuot"; did you mean about?`,
		file + `:3:29: service: "soon" is no distribution; `,
	}
	for _, args := range [][]string{{"compare", file}, {"bench", file}, {"chaos", file}, {"sim", file}, {"forecast", file, "--workers", "2"}, {"scenarios", "check", file}, {"scenarios", "show", file}, {"scenarios", "export", file}} {
		if args[0] != "scenarios" {
			args = append(args, "--out", t.TempDir())
		}
		got := call(t, nil, args...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: exit status %d: %s", args, got.code, got.out)
		}
		wantParts(t, got.err, want...)
	}
}
