package engine_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "pulley"

// row is a line of the table in doc.go.
type row struct {
	name    string // may end in /*: each package one level below
	planned bool
	imports []string
}

// table reads the packages' table out of the package doc.
func table(t *testing.T) []row {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(file.Doc.Text()) {
		cells := strings.Split(line, "|")
		if len(cells) != 3 || strings.TrimSpace(cells[0]) == "package" {
			continue
		}
		r := row{name: strings.TrimSpace(cells[0]), planned: strings.HasPrefix(strings.TrimSpace(cells[1]), "planned:")}
		if list := strings.TrimSpace(cells[2]); list != "–" {
			for name := range strings.SplitSeq(list, ",") {
				r.imports = append(r.imports, strings.TrimSpace(name))
			}
		}
		rows = append(rows, r)
	}
	if len(rows) < 10 {
		t.Fatalf("the table in doc.go has %d rows: it was not read right", len(rows))
	}
	return rows
}

// rule finds the row of a package: its own, or that of its folder.
func rule(rows []row, name string) (row, bool) {
	for _, pattern := range []string{name, path.Dir(name) + "/*"} {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.name == pattern }); i >= 0 {
			return rows[i], true
		}
	}
	return row{}, false
}

// allowed says whether the row's packages may import name: it is listed, or may be imported by one
// that is.
func allowed(rows []row, r row, name string, seen map[string]bool) bool {
	for _, listed := range r.imports {
		if listed == "any" || listed == name || strings.HasSuffix(listed, "/*") && path.Dir(name) == strings.TrimSuffix(listed, "/*") {
			return true
		}
		if seen[listed] {
			continue
		}
		seen[listed] = true
		if next, ok := rule(rows, listed); ok && allowed(rows, next, name, seen) {
			return true
		}
	}
	return false
}

// internal says whether a package below engine imports one of engine's own.
func internal(name, imported string) bool {
	return strings.HasPrefix(name, "engine") && strings.HasPrefix(imported, "engine/internal/")
}

// violations compares a table with what packages import.
func violations(rows []row, imports map[string][]string) []string {
	var found []string
	for name, list := range imports {
		if strings.HasPrefix(name, "engine/internal/") {
			continue
		}
		r, ok := rule(rows, name)
		switch {
		case !ok:
			found = append(found, name+" has no row in the table of engine/doc.go; add one")
			continue
		case r.planned:
			found = append(found, name+` stands, but the table of engine/doc.go calls it planned; take the word away`)
		}
		for _, imported := range list {
			if !internal(name, imported) && !allowed(rows, r, imported, map[string]bool{}) {
				found = append(found, name+" imports "+imported+", which its row in engine/doc.go does not allow")
			}
		}
	}
	for _, r := range rows {
		stands := func(name string) bool { return name == r.name || path.Dir(name)+"/*" == r.name }
		if _, any := find(imports, stands); !any && !r.planned {
			found = append(found, r.name+" has a row in the table of engine/doc.go and no package; write planned: before its purpose")
		}
	}
	slices.Sort(found)
	return found
}

func find(imports map[string][]string, match func(string) bool) (string, bool) {
	for name := range imports {
		if match(name) {
			return name, true
		}
	}
	return "", false
}

// TestTheDocTellsWhoImportsWhom holds the table in doc.go against the code.
func TestTheDocTellsWhoImportsWhom(t *testing.T) {
	// -e: a package that does not build is a matter of its own; what it imports is known even so.
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, problems.String())
	}
	imports := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(pkg.ImportPath, module+"/")
		imports[name] = nil
		for _, imported := range pkg.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				imports[name] = append(imports[name], ours)
			}
		}
	}
	if len(imports["engine"]) == 0 {
		t.Fatalf("go list does not know what package engine imports: %v", imports)
	}
	for _, v := range violations(table(t), imports) {
		t.Error(v)
	}
}

// TestViolationsAreFound shows that the rule can fail.
func TestViolationsAreFound(t *testing.T) {
	rows := []row{
		{name: "engine/a"},
		{name: "engine/b", imports: []string{"engine/a"}},
		{name: "engine/c", imports: []string{"engine/b"}},
		{name: "engine/d/*", imports: []string{"engine/c"}},
		{name: "bench", imports: []string{"engine/d/*"}},
		{name: "cmd/x", imports: []string{"any"}},
		{name: "sim", planned: true},
		{name: "gone"},
	}
	got := violations(rows, map[string][]string{
		"engine/a":          {"engine/b"},
		"engine/b":          {"engine/a", "engine/internal/sql"},
		"engine/c":          {"engine/a"},
		"engine/d/one":      {"engine/b", "engine/d/two"},
		"bench":             {"engine/d/one", "engine/a", "engine/internal/sql"},
		"cmd/x":             {"bench", "sim"},
		"sim":               nil,
		"new":               nil,
		"engine/internal/y": {"new"},
	})
	want := []string{
		"bench imports engine/internal/sql, which its row in engine/doc.go does not allow",
		"engine/a imports engine/b, which its row in engine/doc.go does not allow",
		"engine/d/one imports engine/d/two, which its row in engine/doc.go does not allow",
		"gone has a row in the table of engine/doc.go and no package; write planned: before its purpose",
		"new has no row in the table of engine/doc.go; add one",
		"sim stands, but the table of engine/doc.go calls it planned; take the word away",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
