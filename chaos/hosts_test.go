package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/chaos/fault"
	"pulley/chaos/hosts"
)

// TestFaultsOfHostsNeedHosts has the kinds left out, with what to do, unless a case has hosts.
func TestFaultsOfHostsNeedHosts(t *testing.T) {
	kinds, err := fault.Select([]string{"host"})
	if err != nil || len(kinds) != 3 {
		t.Fatalf("%v, %v, want 3 kinds", fault.Names(kinds), err)
	}
	without, with := lacking(&world{}, kinds), lacking(&world{hosted: true}, kinds)
	for _, k := range kinds {
		if !strings.Contains(without[k.Name], "--hosts docker") {
			t.Errorf("%s is left out since %q", k.Name, without[k.Name])
		}
	}
	if len(with) != 0 {
		t.Errorf("with hosts, %v are left out", with)
	}
	c := shortCase("push")
	c.Hosts = "dokcer"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `"docker"`) {
		t.Errorf("hosts that there are not: %v", err)
	}
}

// TestAKilledHostIsAKilledEngine counts one, and has a soak spare its first engine.
func TestAKilledHostIsAKilledEngine(t *testing.T) {
	totals := NewTotals(map[Goal]int{Kills: 2})
	totals.Add(&Result{Backend: "push", Verdict: Pass, Faults: map[string]int{"host.kill": 2}})
	if !totals.Enough() {
		t.Errorf("%d kills, want 2", totals.Reached[Kills])
	}
	kill, err := fault.Find("host.kill")
	if err != nil {
		t.Fatal(err)
	}
	c := shortCase("push")
	c.EveryMS = 1000
	if plan := c.SoakPlan([]fault.Kind{kill}, 20*time.Second); len(plan) == 0 || slices.ContainsFunc(plan, func(f fault.Fault) bool { return f.Engine == 0 }) {
		t.Errorf("the plan of a soak is %v", plan)
	}
}

// TestHostedCommand has this program's own file be elsewhere, whatever it is called, and nothing else.
func TestHostedCommand(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	got := hostedCommand([]string{"env", "A=b", link, "chaos-engine"})
	if want := []string{"env", "A=b", hosts.Program, "chaos-engine"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
