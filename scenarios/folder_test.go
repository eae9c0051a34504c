package scenarios_test

import (
	"path/filepath"
	"strings"
	"testing"

	"pulley/scenarios"
)

// Others use the scenarios' file names elsewhere, or as parts of other names.
func TestExportRenamesWhatIsMeant(t *testing.T) {
	const program = "fn main(input: [], output: [x]):\n    x = @work()\n"
	gives := func(program, value string) string {
		return "about: gives " + value + "\nprogram: " + program + "\nactions: {work: {gives: " + value + "}}\n"
	}
	elsewhere := folder(t, map[string]string{"sub/s.yaml": gives("p.ir", "9"), "sub/p.ir": program + "# there\n"})
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"a sibling of the same name": {map[string]string{
			"a/all.yaml": "about: all\nmix: [{scenario: ../b/some.yaml}, {scenario: one.yaml}]\n", "a/one.yaml": gives("p.ir", "1"), "a/p.ir": program,
			"b/some.yaml": "about: some\nmix: [{scenario: one.yaml}]\n", "b/one.yaml": gives("p.ir", "2"), "b/p.ir": program + "# b\n",
		}, map[string]string{"some.yaml": "scenario: one.yaml", "one.yaml": "gives: 2", "all.yaml": "scenario: one-2.yaml", "one-2.yaml": "program: p-2.ir", "p.ir": "# b"}},
		"a part of a sibling's name": {map[string]string{
			"a/all.yaml": "about: all\nmix: [{scenario: ../b/some.yaml}, {scenario: op.yaml}, {scenario: shop.yaml}]\n", "a/op.yaml": gives("p.ir", "1"), "a/p.ir": program,
			"b/some.yaml": "about: some\nmix: [{scenario: op.yaml}]\n", "b/op.yaml": gives("p.ir", "2"), "b/p.ir": program, "a/shop.yaml": gives("p.ir", "3"),
		}, map[string]string{"all.yaml": "{scenario: op-2.yaml}, {scenario: shop.yaml}", "some.yaml": "scenario: op.yaml"}},
		"an absolute name": {map[string]string{
			"a/all.yaml": "about: all\nmix: [{scenario: one.yaml}, {scenario: " + filepath.Join(elsewhere, "sub/s.yaml") + "}]\n", "a/one.yaml": gives("../p.ir", "1"), "p.ir": program,
		}, map[string]string{"all.yaml": "{scenario: s.yaml}", "one.yaml": "program: p.ir", "s.yaml": "program: p-2.ir", "p-2.ir": "# there"}},
	} {
		s := loaded(t, filepath.Join(folder(t, c.files), "a/all.yaml"))
		texts, err := s.Export()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]string{}
		for _, text := range texts {
			got[text.Name] = text.Text
		}
		for file, want := range c.want {
			if !strings.Contains(got[file], want) {
				t.Errorf("%s: %s does not say %q: %q", name, file, want, got)
			}
		}
		again := loaded(t, filepath.Join(folder(t, got), texts[0].Name))
		before, after := mixed(t, s, 1, scenarios.Options{}), mixed(t, again, 1, scenarios.Options{})
		for i := range 4 {
			if one, two := before.Of(i), after.Of(i); one.Source != two.Source {
				t.Errorf("%s: instance %d runs %q, and ran %q", name, i, two.Source, one.Source)
			}
		}
	}
}
