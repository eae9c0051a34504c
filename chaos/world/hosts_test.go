package world

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulley/chaos/fault"
	"pulley/chaos/hosts"
)

// TestFaultsOfHostsNeedHosts checks that the kinds are left out, with advice, unless a case has hosts.
func TestFaultsOfHostsNeedHosts(t *testing.T) {
	kinds, err := fault.Select([]string{"host"})
	if err != nil || len(kinds) != 3 {
		t.Fatalf("%v, %v, want 3 kinds", fault.Names(kinds), err)
	}
	without, with := (&World{}).Lacks(kinds), (&World{hosted: true}).Lacks(kinds)
	for _, k := range kinds {
		if !strings.Contains(without[k.Name], "--hosts docker") {
			t.Errorf("%s is left out since %q", k.Name, without[k.Name])
		}
	}
	if len(with) != 0 {
		t.Errorf("with hosts, %v are left out", with)
	}
}

// TestHostedCommand checks that only this program's own file is replaced, by whatever name.
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
