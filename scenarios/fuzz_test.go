package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/internal/yamlfile"
)

// Any file must give a scenario or mistakes with their places. Programs and other files are those that ship. Nothing is built,
// since that may legitimately take long.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("library/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	many, err := filepath.Glob("testdata/mistakes/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, many...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r yamlfile.Report
		from := bundled(Bundle{Root: "f.yaml", Files: map[string]string{
			"f.yaml": text, "shop.ir": "fn main(input: [orders, region], output: [x]):\n    x = @charge(order=orders)\n", "t.txt": "1ms\n2\n", "t.json": "{}",
		}})
		s := decode(from, "f.yaml", nil, &r)
		if err := r.Err(); err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.Contains(line, ":") || strings.HasPrefix(line, ":") {
					t.Errorf("a mistake without a place: %q", line)
				}
			}
			return
		}
		if s.body == nil || len(s.sizes.list) == 0 || s.variants < 1 || s.about == "" {
			t.Errorf("%q is right, and lacks something: %+v", text, s)
		}
	})
}
