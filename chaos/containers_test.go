package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

// TestContainers applies every fault of containers, at night several times each.
func TestContainers(t *testing.T) {
	pgtest.NeedImage(t)
	kinds, err := fault.Select([]string{"container"})
	if err != nil {
		t.Fatal(err)
	}
	c := easy(shortCase("push"))
	c.Server = cases.ServerDocker
	for range depth.Of(1, 4) {
		c.Faults = append(c.Faults, c.Plan(kinds, 0)...)
		c.Seed++
	}
	runAll(t, c)
}

// TestHosts applies every fault of engines' hosts, and every way of killing and stopping engines in them; at night on every
// design, twice.
func TestHosts(t *testing.T) {
	pgtest.NeedImage(t)
	kinds, err := fault.Select([]string{"host", "process.kill", "process.edge", "process.pause", "process.stop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, design := range depth.Of(durable[1:2], durable) {
		t.Run(design, func(t *testing.T) {
			c := shortCase(design) // full load: a killed host must hold something
			c.Hosts = cases.HostsDocker
			for range depth.Of(1, 2) {
				c.Faults = append(c.Faults, c.Plan(kinds, 0)...)
				c.Seed++
			}
			res := runAll(t, c)
			kill := slices.IndexFunc(res.RecoveryMS.Verdicts, func(v record.RecoveryVerdict) bool { return v.Kind == "host.kill" })
			if kill < 0 {
				t.Error("nothing is said of recovery from killed hosts")
			}
		})
	}
}

// TestAnInterruptedRunLeavesNoHosts ends a run while a host is paused. It checks that no container, network or folder is left.
func TestAnInterruptedRunLeavesNoHosts(t *testing.T) {
	pgtest.NeedImage(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // distinguishes the run's containers
	docker, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = docker.Close() }()
	ctx, cancel := context.WithTimeoutCause(untilInterrupted, runsWithin, fmt.Errorf("no host was paused within %v", runsWithin))
	defer cancel()
	c := shortCase("push")
	c.Hosts, c.Faults = cases.HostsDocker, []fault.Fault{{Kind: "host.pause", HoldMS: 600_000}}
	paused := false
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		for ctx.Err() == nil && !paused {
			paused = slices.ContainsFunc(hostsIn(ctx, t, docker, dir), func(state string) bool { return state == "paused" })
			_ = pause.For(ctx, 10*time.Millisecond)
		}
		cancel()
	})
	res, err := Run(ctx, c, Config{Command: []string{os.Args[0]}, Progress: func(line string) { t.Log(line) }})
	cancel()
	if watching.Wait(); !paused || !errors.Is(err, context.Canceled) {
		t.Fatalf("paused %v, %v, %v; want a run that ends while a host is paused", paused, res, err)
	}
	if left := hostsIn(t.Context(), t, docker, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "pulley-hosts-*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

// hostsIn lists the states of the containers, and the names of the networks, of runs with their folder in dir.
func hostsIn(ctx context.Context, t *testing.T, docker *client.Client, dir string) []string {
	const label = "pulley.chaos.hosts"
	filter := make(client.Filters).Add("label", label)
	containers, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	networks, err2 := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err := errors.Join(err, err2); err != nil && ctx.Err() == nil {
		t.Errorf("what there is of hosts: %v", err)
	}
	var out []string
	for _, c := range containers.Items {
		if filepath.Dir(c.Labels[label]) == dir {
			out = append(out, string(c.State))
		}
	}
	for _, n := range networks.Items {
		if filepath.Dir(n.Labels[label]) == dir {
			out = append(out, n.Name)
		}
	}
	return out
}

// runAll runs a case and checks that it passes and that every fault has happened.
func runAll(t *testing.T, c cases.Case) *Result {
	t.Helper()
	c.Cancel = 3 // containers are slow: with fewer, all may end before their cancel
	want := map[string]int{}
	for _, f := range c.Faults {
		want[f.Kind]++
	}
	res := runCase(t, c)
	if res.Verdict != Pass {
		t.Errorf("the verdict is %s by %v, want pass: %v", res.Verdict, res.Invariants(), res.Why)
	}
	if !maps.Equal(res.Faults, want) {
		t.Errorf("%v happened, want %v", res.Faults, want)
	}
	return res
}
