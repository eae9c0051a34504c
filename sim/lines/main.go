// Command lines reports which statements of the decision code simulations have reached, from a coverage profile, and lists the
// unreached lines by function.
//
//	make sim-coverage
//	go run ./sim/lines out/sim/lines.txt
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the prefix of the paths in a profile, which is read in the module's folder.
const module = "pulley/" // the module's path

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lines PROFILE, in the module's folder")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(2)
	}
}

func run(profile string, out io.Writer) error {
	f, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer f.Close()
	blocks, err := read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", profile, err)
	}
	return report(out, blocks)
}

type block struct {
	file        string
	first, last int
	statements  int
	reached     bool
}

// read reads a profile in the text form of go tool covdata or go test. A block that appears twice counts as reached if it was
// reached once.
func read(from io.Reader) ([]block, error) {
	all := map[string]*block{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		at, rest, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("no line of a profile: %q", line)
		}
		b := all[at]
		if b == nil {
			var err error
			if b, err = place(at); err != nil {
				return nil, err
			}
			all[at] = b
		}
		var count int
		if _, err := fmt.Sscan(rest, &b.statements, &count); err != nil {
			return nil, fmt.Errorf("no line of a profile: %q", line)
		}
		b.reached = b.reached || count > 0
	}
	out := make([]block, 0, len(all))
	for _, b := range all {
		out = append(out, *b)
	}
	if len(out) == 0 {
		return nil, errors.Join(lines.Err(), errors.New("there is nothing in it"))
	}
	slices.SortFunc(out, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	return out, lines.Err()
}

// place parses file:line.column,line.column.
func place(at string) (*block, error) {
	file, span, ok := strings.Cut(at, ":")
	from, to, ok2 := strings.Cut(span, ",")
	first, err := strconv.Atoi(before(from))
	last, err2 := strconv.Atoi(before(to))
	if !ok || !ok2 || err != nil || err2 != nil {
		return nil, fmt.Errorf("no place of a profile: %q", at)
	}
	return &block{file: strings.TrimPrefix(file, module), first: first, last: last}, nil
}

func before(s string) string {
	s, _, _ = strings.Cut(s, ".")
	return s
}

func report(out io.Writer, blocks []block) error {
	var missed strings.Builder
	reached, statements := map[string]int{}, map[string]int{}
	var packages []string
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n].file == blocks[0].file {
			n++
		}
		pkg := path.Dir(blocks[0].file)
		if statements[pkg] == 0 {
			packages = append(packages, pkg)
		}
		for _, b := range blocks[:n] {
			statements[pkg] += b.statements
			if b.reached {
				reached[pkg] += b.statements
			}
		}
		if err := misses(&missed, blocks[:n]); err != nil {
			return err
		}
		blocks = blocks[n:]
	}
	for _, pkg := range packages {
		if _, err := fmt.Fprintf(out, "%s: %d of %d statements, %.1f %%\n", pkg, reached[pkg], statements[pkg], 100*float64(reached[pkg])/float64(max(statements[pkg], 1))); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nnever reached:\n%s", missed.String())
	return err
}

func misses(out *strings.Builder, blocks []block) error {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, blocks[0].file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := files.Position(f.Pos()).Line, files.Position(f.End()).Line
		var spans []string
		for _, b := range blocks {
			if !b.reached && b.first >= first && b.last <= last {
				spans = append(spans, fmt.Sprintf("%d-%d", b.first, b.last))
			}
		}
		if len(spans) > 0 {
			fmt.Fprintf(out, "  %s:%d %s: %s\n", blocks[0].file, first, f.Name.Name, strings.Join(spans, ", "))
		}
	}
	return nil
}
