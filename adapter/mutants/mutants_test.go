package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pulley/internal/depth"
)

// root is the module's.
const root = "../.."

// TestMutants checks that each passage stands in the adapter exactly once, before other edits too, and that what comes of it is
// another Python program.
func TestMutants(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, Reference))
	if err != nil {
		t.Fatal(err)
	}
	names, dir := map[string]bool{}, t.TempDir()
	files := []string{"-m", "py_compile"}
	for _, m := range All() {
		if m.Name == "" || m.Doc == "" || len(m.Edits) == 0 || names[m.Name] {
			t.Errorf("mutant %q has no name of its own, no description or no edit", m.Name)
		}
		names[m.Name] = true
		for _, e := range m.Edits {
			if _, err := (Mutant{Name: m.Name, Edits: []Edit{e}}).Apply(string(text)); err != nil || e.Old == e.New {
				t.Errorf("the edit changes nothing, or %v", err)
			}
		}
		file, err := m.Write(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if _, err := (Mutant{Edits: []Edit{{Old: "self"}}}).Apply(string(text)); err == nil {
		t.Error("a passage that stands there many times is replaced")
	}
	depth.Needs(t, "python3")
	if out, err := exec.Command("python3", files...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
