package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

type row struct {
	name    string
	planned bool
	imports []string
	tests   []string
}

const everyPackage = "every package"

type pkg struct{ code, tests []string }

func tables(t *testing.T) ([]row, []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	var common []string
	for line := range strings.Lines(file.Doc.Text()) {
		cells := strings.Split(line, "|")
		name, last := strings.TrimSpace(cells[0]), names(cells[len(cells)-1])
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		switch {
		case len(cells) == 3 && name != "package":
			rows = append(rows, row{name: name, planned: strings.HasPrefix(strings.TrimSpace(cells[1]), "planned:"), imports: last})
		case len(cells) == 2 && name == everyPackage:
			common = last
		case len(cells) == 2 && i >= 0:
			rows[i].tests = last
		case len(cells) == 2 && name != "tests of":
			t.Fatalf("the table of tests in doc.go names %q, which the table of packages does not", name)
		}
	}
	if len(rows) < 10 || len(common) == 0 {
		t.Fatalf("the tables in doc.go have %d rows and %d packages for all tests: they were not read right", len(rows), len(common))
	}
	return rows, common
}

// names parses a list with commas; a dash is an empty one.
func names(cell string) []string {
	if cell = strings.TrimSpace(cell); cell == "–" {
		return nil
	}
	list := strings.Split(cell, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// A name in a table covers a package by its own name, its folder's, or any.
func covers(listed, name string) bool {
	return listed == "any" || listed == name || listed == path.Dir(name)+"/*"
}

func rule(rows []row, name string) (row, bool) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	if i < 0 {
		i = slices.IndexFunc(rows, func(r row) bool { return covers(r.name, name) })
	}
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

func allowed(rows []row, list []string, name string, seen map[string]bool) bool {
	for _, listed := range list {
		if covers(listed, name) {
			return true
		}
		if seen[listed] {
			continue
		}
		seen[listed] = true
		if next, ok := rule(rows, listed); ok && allowed(rows, next.imports, name, seen) {
			return true
		}
	}
	return false
}

func internal(name, imported string) bool {
	return strings.HasPrefix(name, "engine") && strings.HasPrefix(imported, "engine/internal/")
}

func violations(rows []row, common []string, packages map[string]pkg) []string {
	var found []string
	for name, p := range packages {
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
		for _, imported := range p.code {
			if !internal(name, imported) && !allowed(rows, r.imports, imported, map[string]bool{}) {
				found = append(found, name+" imports "+imported+", which its row in engine/doc.go does not allow")
			}
		}
		list := slices.Concat(r.imports, r.tests, common)
		for _, imported := range p.tests {
			if imported != name && !internal(name, imported) && !allowed(rows, list, imported, map[string]bool{}) {
				found = append(found, "tests of "+name+" import "+imported+", which the tables of engine/doc.go do not allow")
			}
		}
	}
	found = append(found, unused(rows, packages)...)
	slices.Sort(found)
	return found
}

func unused(rows []row, packages map[string]pkg) []string {
	var found []string
	for _, r := range rows {
		var all pkg
		any := false
		for name, p := range packages {
			if covers(r.name, name) {
				any, all.code, all.tests = true, append(all.code, p.code...), append(all.tests, p.tests...)
			}
		}
		if !any {
			if !r.planned {
				found = append(found, r.name+" has a row in the table of engine/doc.go and no package; write planned: before its purpose")
			}
			continue
		}
		missing := func(list, imports []string, who string) {
			for _, listed := range list {
				if listed != "any" && !slices.ContainsFunc(imports, func(name string) bool { return covers(listed, name) }) {
					found = append(found, who+" may import "+listed+", and does not; take it out of the table of engine/doc.go")
				}
			}
		}
		missing(r.imports, all.code, r.name)
		missing(r.tests, all.tests, "tests of "+r.name)
	}
	return found
}

func listPackages(t *testing.T) (packages map[string]pkg, files map[string]int) {
	t.Helper()
	// -e: a package that does not build still has its imports.
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,GoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports", module+"/...")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, problems.String())
	}
	packages, files = map[string]pkg{}, map[string]int{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath                                                  string
			GoFiles, IgnoredGoFiles, Imports, TestImports, XTestImports []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		packages[name] = pkg{ours(p.Imports), ours(slices.Concat(p.TestImports, p.XTestImports))}
		files[name] = len(p.GoFiles)
		for _, file := range p.IgnoredGoFiles { // built only on another system
			if !strings.HasSuffix(file, "_test.go") {
				files[name]++
			}
		}
	}
	if len(packages["engine"].code) == 0 {
		t.Fatalf("go list does not know what package engine imports: %v", packages)
	}
	return packages, files
}

func ours(imports []string) []string {
	var list []string
	for _, imported := range imports {
		if name, ok := strings.CutPrefix(imported, module+"/"); ok {
			list = append(list, name)
		}
	}
	return list
}

func TestTheDocTellsWhoImportsWhom(t *testing.T) {
	rows, common := tables(t)
	packages, _ := listPackages(t)
	for _, v := range violations(rows, common, packages) {
		t.Error(v)
	}
}

func TestViolationsAreFound(t *testing.T) {
	rows := []row{
		{name: "engine/a"},
		{name: "engine/b", imports: []string{"engine/a"}},
		{name: "engine/c", imports: []string{"engine/b"}, tests: []string{"bench", "sim"}},
		{name: "engine/d/*", imports: []string{"engine/c"}},
		{name: "bench", imports: []string{"engine/d/*"}},
		{name: "cmd/x", imports: []string{"any"}},
		{name: "sim", planned: true},
		{name: "gone"},
	}
	got := violations(rows, []string{"help"}, map[string]pkg{
		"engine/a":          {[]string{"engine/b"}, []string{"engine/a", "help"}},
		"engine/b":          {[]string{"engine/a", "engine/internal/sql"}, []string{"engine/c", "engine/internal/sql"}},
		"engine/c":          {[]string{"engine/a"}, []string{"engine/d/one", "bench"}},
		"engine/d/one":      {[]string{"engine/b", "engine/d/two"}, nil},
		"engine/d/two":      {[]string{"engine/c"}, nil},
		"bench":             {[]string{"engine/d/one", "engine/a", "engine/internal/sql"}, nil},
		"cmd/x":             {[]string{"bench", "sim"}, []string{"engine/a"}},
		"sim":               {},
		"new":               {},
		"engine/internal/y": {[]string{"new"}, nil},
	})
	want := []string{
		"bench imports engine/internal/sql, which its row in engine/doc.go does not allow",
		"engine/a imports engine/b, which its row in engine/doc.go does not allow",
		"engine/c may import engine/b, and does not; take it out of the table of engine/doc.go",
		"engine/d/one imports engine/d/two, which its row in engine/doc.go does not allow",
		"gone has a row in the table of engine/doc.go and no package; write planned: before its purpose",
		"new has no row in the table of engine/doc.go; add one",
		"sim stands, but the table of engine/doc.go calls it planned; take the word away",
		"tests of engine/b import engine/c, which the tables of engine/doc.go do not allow",
		"tests of engine/c may import sim, and does not; take it out of the table of engine/doc.go",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// filesMax bounds the files of a package without tests: a reader keeps no more apart.
const filesMax = 20

// tooLarge lists packages with more files. Numbers may only fall; a package that reaches filesMax leaves the list.
var tooLarge = map[string]int{}

func crowded(files, known map[string]int) []string {
	var found []string
	for name, n := range files {
		switch most, ok := known[name]; {
		case !ok && n > filesMax:
			found = append(found, fmt.Sprintf("%s has %d files without tests, more than %d; cut it along what a reader looks for", name, n, filesMax))
		case ok && n > most:
			found = append(found, fmt.Sprintf("%s has %d files without tests, more than the %d that it had; it may only shrink", name, n, most))
		case ok && n < most:
			found = append(found, fmt.Sprintf("%s has %d files without tests, and may have %d; lower that, or take it away at %d", name, n, most, filesMax))
		}
	}
	for name, most := range known {
		if _, ok := files[name]; !ok || most <= filesMax {
			found = append(found, name+" needs no exception; take it away")
		}
	}
	slices.Sort(found)
	return found
}

func TestPackagesHaveFewFiles(t *testing.T) {
	_, files := listPackages(t)
	for _, v := range crowded(files, tooLarge) {
		t.Error(v)
	}
	got := crowded(map[string]int{"new": 21, "full": 20, "grown": 31, "shrunk": 29, "same": 30},
		map[string]int{"grown": 30, "shrunk": 30, "same": 30, "gone": 30})
	want := []string{
		"gone needs no exception; take it away",
		"grown has 31 files without tests, more than the 30 that it had; it may only shrink",
		"new has 21 files without tests, more than 20; cut it along what a reader looks for",
		"shrunk has 29 files without tests, and may have 30; lower that, or take it away at 20",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
