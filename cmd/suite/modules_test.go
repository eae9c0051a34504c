package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/mod/semver"
)

// The modules of adapters build with this one's dependencies, which a change here may have raised: nothing else tells before the
// adapters are built.
func TestModulesOfAdaptersFollow(t *testing.T) {
	t.Parallel()
	own := requirements(t, "../..")
	found, err := filepath.Glob("../../adapters/*/go.mod")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d modules, %v", len(found), err)
	}
	for _, file := range found {
		for path, version := range requirements(t, filepath.Dir(file)) {
			if least, has := own[path]; has && semver.Compare(version, least) < 0 {
				t.Errorf("%s has %s %s, and pulley needs %s; update that module", file, path, version, least)
			}
		}
	}
}

// requirements returns the versions that a module requires.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	return versions
}
