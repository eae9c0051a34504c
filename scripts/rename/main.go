// rename applies renames.tsv to the module in a directory, by object and not by text, and then words.tsv to
// what the compiler does not see: comments, strings, SQL, Markdown, file names.
//
//	renamer -dir WORKTREE -renames renames.tsv [-words words.tsv] [-dry] [-locals]
//
// renames.tsv: package, kind, old, new, uses, note. Kinds type, func, method, field, var, const and local are
// applied by object (old of a method or field is Type.name); a row whose new is empty or - is a remark and is not
// applied. A row whose old is not there (any more) is reported and skipped, so it can run again on a moved tree.
// words.tsv: glob of paths, where (comment, string, code, text, path), regular expression, replacement. "comment" and
// "string" are those of Go files; "text" is the whole of a file that is not Go; "path" renames files.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/tools/go/packages"
)

type row struct{ pkg, kind, old, new, note string }

var (
	dir     = flag.String("dir", ".", "worktree")
	renames = flag.String("renames", "renames.tsv", "")
	words   = flag.String("words", "", "second list")
	dry     = flag.Bool("dry", false, "write nothing")
	only    = flag.String("only", "", "regular expression of packages")
)

func main() {
	flag.Parse()
	d, err := filepath.Abs(*dir)
	check(err)
	*dir = d
	if *renames != "" {
		rename(readRows(*renames))
	}
	if *words != "" {
		rewrite(*words)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func readRows(name string) []row {
	b, err := os.ReadFile(name)
	check(err)
	var out []row
	for i, l := range strings.Split(string(b), "\n") {
		f := strings.Split(l, "\t")
		if len(f) < 4 || i == 0 && f[0] == "package" || strings.HasPrefix(l, "#") {
			continue
		}
		for len(f) < 6 {
			f = append(f, "")
		}
		if f[3] == "" || f[3] == "-" {
			continue
		}
		if *only != "" && !regexp.MustCompile(*only).MatchString(f[0]) {
			continue
		}
		switch f[1] {
		case "type", "func", "method", "field", "var", "const", "local":
			out = append(out, row{f[0], f[1], f[2], f[3], f[5]})
		}
	}
	return out
}

var fset = token.NewFileSet()

func key(p token.Pos) string {
	if !p.IsValid() {
		return ""
	}
	q := fset.Position(p)
	return fmt.Sprintf("%s:%d:%d", q.Filename, q.Line, q.Column)
}

func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

type decl struct {
	key, pkg, kind, old string // old: Type.name for members
	name                string
	obj                 types.Object
	p                   *packages.Package
}

func base(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func rename(rows []row) {
	module := modulePath()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Env: append(os.Environ(), "CGO_ENABLED=0"), Dir: *dir, Fset: fset, Tests: true}, "./...")
	check(err)
	broken := false
	for _, p := range pkgs {
		for _, e := range p.Errors {
			fmt.Fprintln(os.Stderr, "load:", e)
			broken = true
		}
	}
	if broken {
		os.Exit(1)
	}
	pkgs = slices.DeleteFunc(pkgs, func(p *packages.Package) bool { return strings.HasSuffix(p.PkgPath, ".test") })

	// every declaration, by "pkg kind old" and by place
	byName := map[string][]*decl{}
	byKey := map[string]*decl{}
	localsOf := map[string]map[string][]*ast.Ident{} // pkg, name
	for _, p := range pkgs {
		owner := owners(p)
		pkg := strings.TrimPrefix(strings.TrimSuffix(p.PkgPath, "_test"), module+"/")
		for id, o := range p.TypesInfo.Defs {
			if o == nil || id.Name == "_" {
				continue
			}
			kind, name := kindOf(p, o), id.Name
			if kind == "" {
				if _, ok := o.(*types.Var); ok {
					if localsOf[pkg] == nil {
						localsOf[pkg] = map[string][]*ast.Ident{}
					}
					localsOf[pkg][name] = append(localsOf[pkg][name], id)
				}
				continue
			}
			if kind == "method" || kind == "field" {
				name = owner[o] + "." + name
			}
			k := key(id.Pos())
			if byKey[k] != nil {
				continue
			}
			dc := &decl{k, pkg, kind, name, id.Name, o, p}
			byKey[k] = dc
			n := pkg + " " + kind + " " + name
			byName[n] = append(byName[n], dc)
		}
	}

	to := map[string]string{} // place of a declaration -> new name
	why := map[string]row{}
	missing := 0
	var locals []row
	for _, r := range rows {
		if r.kind == "local" {
			locals = append(locals, r)
			continue
		}
		ds := byName[r.pkg+" "+r.kind+" "+r.old]
		if len(ds) == 0 {
			fmt.Printf("MISSING %s %s %s\n", r.pkg, r.kind, r.old)
			missing++
			continue
		}
		for _, d := range ds {
			to[d.key], why[d.key] = base(r.new), r
		}
	}

	// methods of interfaces and of what implements them go together
	groups := methodGroups(pkgs)
	for k, n := range maps(to) {
		for _, other := range groups.members(k) {
			if had, ok := to[other]; ok && had != n {
				fmt.Printf("CONFLICT %s: %s and %s for methods of one interface\n", other, had, n)
				continue
			}
			if to[other] == "" {
				if d := byKey[other]; d != nil {
					fmt.Printf("ALSO %s %s %s -> %s (same interface)\n", d.pkg, d.kind, d.old, n)
				} else if !strings.HasPrefix(other, *dir) {
					fmt.Printf("CONFLICT %s belongs to an interface outside of the module\n", other)
				}
				to[other] = n
			}
		}
	}

	// embedded fields are named as their types
	for _, p := range pkgs {
		for id, o := range p.TypesInfo.Defs {
			v, ok := o.(*types.Var)
			if !ok || !v.Embedded() {
				continue
			}
			t := v.Type()
			if ptr, ok := t.(*types.Pointer); ok {
				t = ptr.Elem()
			}
			var tn types.Object
			switch t := t.(type) {
			case *types.Named:
				tn = t.Obj()
			case *types.Alias:
				tn = t.Obj()
			}
			if tn != nil {
				if n, ok := to[key(tn.Pos())]; ok {
					to[key(id.Pos())] = n
				}
			}
		}
	}

	// conflicts
	bad := map[string]string{}
	for _, p := range pkgs {
		for id, o := range p.TypesInfo.Uses {
			o = origin(o)
			k := key(o.Pos())
			n, ok := to[k]
			if !ok || o.Parent() == nil || o.Pkg() == nil || o.Parent() != o.Pkg().Scope() || o.Pkg().Path() != p.Types.Path() {
				continue
			}
			if inner := p.Types.Scope().Innermost(id.Pos()); inner != nil {
				if _, found := inner.LookupParent(n, id.Pos()); found != nil && to[key(found.Pos())] == "" {
					where := "package"
					if found.Parent() != p.Types.Scope() {
						where = "local"
					}
					bad[k] = fmt.Sprintf("%s is %s scope's at %s", n, where, key(id.Pos()))
				}
			}
		}
	}
	for _, d := range byKey {
		n, ok := to[d.key]
		if !ok {
			continue
		}
		switch d.kind {
		case "type", "func", "var", "const":
			if o := d.p.Types.Scope().Lookup(n); o != nil && to[key(o.Pos())] == "" && d.obj.Parent() == d.p.Types.Scope() {
				bad[d.key] = n + " is declared at " + key(o.Pos())
			}
		case "method", "field":
			for _, k := range []string{"method", "field"} {
				for _, x := range byName[d.pkg+" "+k+" "+strings.TrimSuffix(d.old, d.name)+n] {
					if to[x.key] == "" {
						bad[d.key] = n + " is a " + k + " of the type at " + x.key
					}
				}
			}
		}
	}
	for k, b := range bad {
		d := byKey[k]
		if d == nil {
			continue
		}
		fmt.Printf("CONFLICT %s %s %s -> %s: %s\n", d.pkg, d.kind, d.old, to[k], b)
		for _, other := range append(groups.members(k), k) {
			delete(to, other)
		}
	}

	// edits
	edits := map[string]map[int]edit{} // file -> offset
	add := func(pos token.Pos, old, new string) {
		q := fset.Position(pos)
		if !strings.HasPrefix(q.Filename, *dir) {
			return
		}
		if edits[q.Filename] == nil {
			edits[q.Filename] = map[int]edit{}
		}
		edits[q.Filename][q.Offset] = edit{old, new}
	}
	count := map[string]int{}
	for _, p := range pkgs {
		for _, m := range []map[*ast.Ident]types.Object{p.TypesInfo.Defs, p.TypesInfo.Uses} {
			for id, o := range m {
				if o == nil {
					continue
				}
				k := key(origin(o).Pos())
				if n, ok := to[k]; ok {
					add(id.Pos(), id.Name, n)
					count[k]++
				}
			}
		}
	}
	renameLocals(pkgs, module, locals, add)

	// what comments say of it
	done := map[string]bool{}
	for _, p := range pkgs {
		pkg := strings.TrimPrefix(strings.TrimSuffix(p.PkgPath, "_test"), module+"/")
		for _, f := range p.Syntax {
			name := fset.Position(f.Pos()).Filename
			if done[name] || !strings.HasPrefix(name, *dir) {
				continue
			}
			done[name] = true
			commentEdits(p, pkg, f, to, byKey, add)
		}
	}

	planted(pkgs, edits, add)

	files := 0
	for name, es := range edits {
		b, err := os.ReadFile(name)
		check(err)
		var offs []int
		for o := range es {
			offs = append(offs, o)
		}
		sort.Sort(sort.Reverse(sort.IntSlice(offs)))
		for _, o := range offs {
			e := es[o]
			if string(b[o:o+len(e.old)]) != e.old {
				check(fmt.Errorf("%s at %d: %q is not %q", name, o, b[o:o+len(e.old)], e.old))
			}
			b = slices.Concat(b[:o], []byte(e.new), b[o+len(e.old):])
		}
		out, err := format.Source(b)
		if err != nil {
			fmt.Println("FORMAT", name, err)
			out = b
		}
		files++
		if !*dry {
			check(os.WriteFile(name, out, 0o644))
		}
	}
	for _, p := range pkgs {
		for _, f := range p.IgnoredFiles {
			b, _ := os.ReadFile(f)
			for k := range to {
				if d := byKey[k]; d != nil && d.pkg == strings.TrimPrefix(p.PkgPath, module+"/") && regexp.MustCompile(`\b`+d.name+`\b`).Match(b) {
					fmt.Printf("IGNORED FILE %s has %s, replaced as text\n", f, d.name)
					b = regexp.MustCompile(`\b`+d.name+`\b`).ReplaceAll(b, []byte(to[k]))
					if !*dry {
						check(os.WriteFile(f, b, 0o644))
					}
				}
			}
		}
	}
	fmt.Printf("%d names, %d files, %d missing, %d conflicts\n", len(to), files, missing, len(bad))
}

type edit struct{ old, new string }

// planted renames in the texts of planted bugs: literals of a struct whose fields are File, Old and New. What is
// replaced is changed as its file is; what replaces it, by the names of its file's package.
func planted(pkgs []*packages.Package, edits map[string]map[int]edit, add func(token.Pos, string, string)) {
	type text struct {
		lit *ast.BasicLit
		new string
	}
	var texts []text
	seen := map[string]bool{}
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				c, ok := n.(*ast.CompositeLit)
				if !ok || len(c.Elts) != 3 {
					return true
				}
				tv, ok := p.TypesInfo.Types[c]
				if !ok {
					return true
				}
				s, ok := tv.Type.Underlying().(*types.Struct)
				if !ok || s.NumFields() != 3 || s.Field(0).Name() != "File" || s.Field(1).Name() != "Old" || s.Field(2).Name() != "New" || seen[key(c.Pos())] {
					return true
				}
				seen[key(c.Pos())] = true
				var values [3]string
				var lits [3]*ast.BasicLit
				for i, e := range c.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
						values[i] = constant.StringVal(v)
					}
					lits[i], _ = e.(*ast.BasicLit)
				}
				name := filepath.Join(*dir, values[0])
				b, err := os.ReadFile(name)
				if err != nil || !strings.HasSuffix(name, ".go") {
					return true
				}
				names := map[string]string{}
				for file, es := range edits {
					if filepath.Dir(file) == filepath.Dir(name) && file != name {
						for _, e := range es {
							names[e.old] = e.new
						}
					}
				}
				for _, e := range edits[name] {
					names[e.old] = e.new
				}
				at := strings.Index(string(b), values[1])
				if at < 0 {
					fmt.Printf("PLANTED %s: not found in %s\n", key(c.Pos()), values[0])
					return true
				}
				local := map[string]string{} // names in what is replaced: the surest
				old := values[1]
				var offs []int
				for o := range edits[name] {
					if o >= at && o < at+len(values[1]) {
						offs = append(offs, o)
					}
				}
				sort.Sort(sort.Reverse(sort.IntSlice(offs)))
				for _, o := range offs {
					e := edits[name][o]
					local[e.old] = e.new
					old = old[:o-at] + e.new + old[o-at+len(e.old):]
				}
				repl := word.ReplaceAllStringFunc(values[2], func(s string) string {
					if n := local[s]; n != "" {
						return n
					}
					if n := names[s]; n != "" && regexp.MustCompile(`(\.`+s+`\b|\b`+s+`\()`).MatchString(values[2]) {
						return n
					}
					return s
				})
				for i, v := range []string{old, repl} {
					if v == values[i+1] {
						continue
					}
					if lits[i+1] == nil {
						fmt.Printf("PLANTED %s: is no literal, by hand\n", key(c.Elts[i+1].Pos()))
						continue
					}
					texts = append(texts, text{lits[i+1], v})
				}
				return true
			})
		}
	}
	for _, t := range texts {
		q := "`" + t.new + "`"
		if strings.Contains(t.new, "`") || t.lit.Value[0] == '"' {
			q = strconv.Quote(t.new)
		}
		add(t.lit.Pos(), t.lit.Value, q)
	}
	fmt.Printf("%d texts of planted bugs\n", len(texts))
}

func maps(m map[string]string) map[string]string {
	c := map[string]string{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func modulePath() string {
	b, err := os.ReadFile(filepath.Join(*dir, "go.mod"))
	check(err)
	return strings.Fields(string(b))[1]
}

func kindOf(p *packages.Package, o types.Object) string {
	switch o := o.(type) {
	case *types.TypeName:
		if o.Parent() == p.Types.Scope() {
			return "type"
		}
	case *types.Func:
		if o.Signature().Recv() != nil {
			return "method"
		}
		return "func"
	case *types.Var:
		switch {
		case o.IsField() && !o.Embedded():
			return "field"
		case o.IsField():
			return "embedded"
		case o.Parent() == p.Types.Scope():
			return "var"
		}
	case *types.Const:
		if o.Parent() == p.Types.Scope() {
			return "const"
		}
	}
	return ""
}

// owners gives the type of each field and method.
func owners(p *packages.Package) map[types.Object]string {
	owner := map[types.Object]string{}
	for _, f := range p.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				ast.Inspect(n.Type, func(m ast.Node) bool {
					if fl, ok := m.(*ast.Field); ok {
						for _, id := range fl.Names {
							if o := p.TypesInfo.Defs[id]; o != nil {
								if _, done := owner[o]; !done {
									owner[o] = n.Name.Name
								}
							}
						}
					}
					return true
				})
			case *ast.FuncDecl:
				if n.Recv != nil && len(n.Recv.List) > 0 {
					t := n.Recv.List[0].Type
					for {
						switch x := t.(type) {
						case *ast.StarExpr:
							t = x.X
							continue
						case *ast.IndexExpr:
							t = x.X
							continue
						case *ast.IndexListExpr:
							t = x.X
							continue
						case *ast.Ident:
							owner[p.TypesInfo.Defs[n.Name]] = x.Name
						}
						break
					}
				}
			}
			return true
		})
	}
	return owner
}

// union is a union-find over places.
type union struct {
	parent map[string]string
	sets   map[string][]string
}

func (u *union) find(k string) string {
	for u.parent[k] != "" && u.parent[k] != k {
		k = u.parent[k]
	}
	return k
}

func (u *union) join(a, b string) {
	if a, b = u.find(a), u.find(b); a != b {
		u.parent[a] = b
	}
}

func (u *union) members(k string) []string {
	if u.sets == nil {
		u.sets = map[string][]string{}
		for x := range u.parent {
			u.sets[u.find(x)] = append(u.sets[u.find(x)], x)
		}
		for r := range u.sets {
			if !slices.Contains(u.sets[r], r) {
				u.sets[r] = append(u.sets[r], r)
			}
		}
	}
	if _, ok := u.parent[k]; !ok && u.sets[k] == nil {
		return nil
	}
	return u.sets[u.find(k)]
}

type methods map[string]string // name and signature -> place

func methodsOf(t types.Type) methods {
	out := methods{}
	if n, ok := t.(*types.Named); ok && n.TypeParams().Len() > 0 && n.TypeArgs().Len() == 0 {
		for i := range n.NumMethods() {
			m := n.Method(i)
			out[m.Name()+sig(m)] = key(m.Origin().Pos())
		}
		if _, ok := n.Underlying().(*types.Interface); !ok {
			return out
		}
	}
	if _, ok := t.Underlying().(*types.Interface); !ok {
		t = types.NewPointer(t)
	}
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		if f, ok := set.At(i).Obj().(*types.Func); ok {
			out[f.Name()+sig(f)] = key(f.Origin().Pos())
		}
	}
	return out
}

func sig(f *types.Func) string {
	s := f.Signature()
	q := func(p *types.Package) string { return p.Path() }
	var b strings.Builder
	for _, t := range []*types.Tuple{s.Params(), s.Results()} {
		b.WriteString("(")
		for i := range t.Len() {
			b.WriteString(types.TypeString(t.At(i).Type(), q) + ",")
		}
		b.WriteString(")")
	}
	return b.String()
}

func methodGroups(pkgs []*packages.Package) *union {
	u := &union{parent: map[string]string{}}
	var concrete, interfaces []methods
	seen := map[string]bool{}
	note := func(t types.Type, at string) {
		if seen[at] {
			return
		}
		seen[at] = true
		m := methodsOf(t)
		if len(m) == 0 {
			return
		}
		if _, ok := t.Underlying().(*types.Interface); ok {
			interfaces = append(interfaces, m)
		} else {
			concrete = append(concrete, m)
		}
	}
	outside := map[*types.Package]bool{}
	for _, p := range pkgs {
		for _, o := range p.TypesInfo.Defs {
			if tn, ok := o.(*types.TypeName); ok && !tn.IsAlias() {
				if _, param := tn.Type().(*types.TypeParam); !param {
					note(tn.Type(), key(tn.Pos()))
				}
			}
		}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				if it, ok := n.(*ast.InterfaceType); ok {
					if tv, ok := p.TypesInfo.Types[it]; ok && tv.Type != nil {
						note(tv.Type, key(it.Pos()))
					}
				}
				return true
			})
		}
		for _, imp := range p.Types.Imports() { // interfaces of other modules that our types implement
			if outside[imp] || strings.HasPrefix(imp.Path(), modulePathCached()) {
				continue
			}
			outside[imp] = true
			for _, n := range imp.Scope().Names() {
				if tn, ok := imp.Scope().Lookup(n).(*types.TypeName); ok && tn.Exported() {
					if _, ok := tn.Type().Underlying().(*types.Interface); ok {
						note(tn.Type(), "outside "+imp.Path()+"."+n)
					}
				}
			}
		}
	}
	for _, i := range interfaces {
		for _, list := range [][]methods{concrete, interfaces} {
		next:
			for _, c := range list {
				if len(c) < len(i) {
					continue
				}
				for m := range i {
					if c[m] == "" {
						continue next
					}
				}
				for m, k := range i {
					if c[m] != k {
						u.parent[c[m]] = u.find(c[m])
						u.join(k, c[m])
					}
				}
			}
		}
	}
	for k := range u.parent { // roots know themselves
		r := u.find(k)
		if u.parent[r] == "" {
			u.parent[r] = r
		}
	}
	return u
}

var cachedModule string

func modulePathCached() string {
	if cachedModule == "" {
		cachedModule = modulePath()
	}
	return cachedModule
}

// renameLocals renames variables of functions where the new name occurs nowhere in the function.
func renameLocals(pkgs []*packages.Package, module string, rows []row, add func(token.Pos, string, string)) {
	if len(rows) == 0 {
		return
	}
	by := map[string]row{}
	for _, r := range rows {
		by[r.pkg+" "+r.old] = r
	}
	skipped, n := map[string]int{}, 0
	seen := map[string]bool{}
	for _, p := range pkgs {
		pkg := strings.TrimPrefix(strings.TrimSuffix(p.PkgPath, "_test"), module+"/")
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				names := map[string]bool{}
				ast.Inspect(d, func(x ast.Node) bool {
					if id, ok := x.(*ast.Ident); ok {
						names[id.Name] = true
					}
					return true
				})
				objs := map[types.Object]string{}
				ast.Inspect(d, func(x ast.Node) bool {
					id, ok := x.(*ast.Ident)
					if !ok {
						return true
					}
					v, ok := p.TypesInfo.Defs[id].(*types.Var)
					if !ok || v.IsField() || v.Parent() == p.Types.Scope() {
						return true
					}
					r, ok := by[pkg+" "+id.Name]
					if !ok {
						r, ok = by["* "+id.Name]
					}
					if !ok {
						return true
					}
					if names[r.new] {
						if k := key(id.Pos()); !seen[k] {
							skipped[pkg+" "+r.old+" -> "+r.new]++
							seen[k] = true
						}
						return true
					}
					objs[v] = r.new
					return true
				})
				ast.Inspect(d, func(x ast.Node) bool {
					id, ok := x.(*ast.Ident)
					if !ok {
						return true
					}
					o := p.TypesInfo.Defs[id]
					if o == nil {
						o = p.TypesInfo.Uses[id]
					}
					if o == nil {
						return true
					}
					if name, ok := objs[o]; ok {
						add(id.Pos(), id.Name, name)
						n++
					}
					return true
				})
			}
		}
	}
	for s, c := range skipped {
		fmt.Printf("LOCAL %s: left %d times, the new name is in use there\n", s, c)
	}
	fmt.Printf("%d uses of local variables\n", n)
}

// commentEdits renames in comments: the name that a declaration's comment begins with, names that only code has
// (a capital inside), and pkg.Name, [Name] and Type.name wherever they stand.
func commentEdits(p *packages.Package, pkg string, f *ast.File, to map[string]string, byKey map[string]*decl, add func(token.Pos, string, string)) {
	begins := map[*ast.CommentGroup][]string{} // old, new
	mark := func(doc *ast.CommentGroup, id *ast.Ident) {
		if doc != nil {
			if n, ok := to[key(id.Pos())]; ok {
				begins[doc] = append(begins[doc], id.Name, n)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			mark(n.Doc, n.Name)
		case *ast.GenDecl:
			for _, s := range n.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					mark(n.Doc, s.Name)
					mark(s.Doc, s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						mark(n.Doc, id)
						mark(s.Doc, id)
					}
				}
			}
		case *ast.Field:
			for _, id := range n.Names {
				mark(n.Doc, id)
				mark(n.Comment, id)
			}
		}
		return true
	})
	own, qualified := textNames(to, byKey)
	for _, g := range f.Comments {
		for _, c := range g.List {
			used := map[int]bool{}
			replace := func(re *regexp.Regexp, group int, new func(string) string) {
				for _, m := range re.FindAllStringSubmatchIndex(c.Text, -1) {
					a, b := m[2*group], m[2*group+1]
					if used[a] {
						continue
					}
					if n := new(c.Text[a:b]); n != "" {
						used[a] = true
						add(c.Pos()+token.Pos(a), c.Text[a:b], n)
					}
				}
			}
			if c == g.List[0] {
				for i := 0; i+1 < len(begins[g]); i += 2 {
					replace(regexp.MustCompile(`^//\s*(`+begins[g][i]+`)\b`), 1, func(string) string { return begins[g][i+1] })
				}
			}
			replace(word, 0, func(s string) string { return own[pkg][s] })
			replace(dotted, 2, func(s string) string { return "" })
			for _, m := range dotted.FindAllStringSubmatchIndex(c.Text, -1) {
				if n := qualified[c.Text[m[0]:m[1]]]; n != "" && !used[m[4]] {
					used[m[4]] = true
					add(c.Pos()+token.Pos(m[4]), c.Text[m[4]:m[5]], n)
				}
			}
		}
	}
}

var (
	word   = regexp.MustCompile(`\b[A-Za-z]\w*\b`)
	dotted = regexp.MustCompile(`\b(\w+)\.(\w+)\b`)

	ownNames, dottedNames = map[string]map[string]string(nil), map[string]string(nil)
)

// textNames lists names that comments may have: by package those that look like code, and those behind a dot.
func textNames(to map[string]string, byKey map[string]*decl) (own map[string]map[string]string, qualified map[string]string) {
	if ownNames != nil {
		return ownNames, dottedNames
	}
	ownNames, dottedNames = map[string]map[string]string{}, map[string]string{}
	for k, n := range to {
		d := byKey[k]
		if d == nil {
			continue
		}
		if strings.IndexFunc(d.name[1:], unicode.IsUpper) >= 0 {
			if ownNames[d.pkg] == nil {
				ownNames[d.pkg] = map[string]string{}
			}
			ownNames[d.pkg][d.name] = n
		}
		if strings.Contains(d.old, ".") {
			dottedNames[d.old] = n
		} else if unicode.IsUpper(rune(d.name[0])) {
			dottedNames[filepath.Base(d.pkg)+"."+d.name] = n
		}
	}
	return ownNames, dottedNames
}

// rewrite applies the second list.
func rewrite(name string) {
	b, err := os.ReadFile(name)
	check(err)
	cmd := exec.Command("git", "ls-files")
	cmd.Dir = *dir
	out, err := cmd.Output()
	check(err)
	files := strings.Fields(string(out))
	for i, l := range strings.Split(string(b), "\n") {
		f := strings.Split(l, "\t")
		if len(f) < 4 || strings.HasPrefix(l, "#") {
			continue
		}
		glob := regexp.MustCompile("^" + strings.NewReplacer(".", `\.`, "**", ".*", "*", "[^/]*").Replace(f[0]) + "$")
		re, err := regexp.Compile(f[2])
		if err != nil {
			check(fmt.Errorf("%s:%d: %w", name, i+1, err))
		}
		hits := 0
		for j, file := range files {
			if !glob.MatchString(file) {
				continue
			}
			path := filepath.Join(*dir, file)
			if f[1] == "path" {
				if n := re.ReplaceAllString(file, f[3]); n != file {
					hits++
					if !*dry {
						check(os.MkdirAll(filepath.Dir(filepath.Join(*dir, n)), 0o755))
						mv := exec.Command("git", "mv", file, n)
						mv.Dir = *dir
						if b, err := mv.CombinedOutput(); err != nil {
							check(fmt.Errorf("git mv: %s", b))
						}
						files[j] = n
					}
				}
				continue
			}
			b, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			goFile := strings.HasSuffix(file, ".go")
			var n []byte
			switch {
			case f[1] == "text" && !goFile:
				n = re.ReplaceAll(b, []byte(f[3]))
			case f[1] != "text" && goFile:
				n = tokens(b, f[1], re, f[3])
			default:
				continue
			}
			if string(n) != string(b) {
				hits++
				if !*dry {
					check(os.WriteFile(path, n, 0o644))
				}
			}
		}
		if hits == 0 {
			fmt.Printf("NOTHING %s:%d: %s\n", name, i+1, l)
		}
	}
}

// tokens applies an expression to the comments or the string literals of a Go file.
func tokens(b []byte, where string, re *regexp.Regexp, to string) []byte {
	if !re.Match(b) {
		return b
	}
	fs := token.NewFileSet()
	file := fs.AddFile("", fs.Base(), len(b))
	var s scanner.Scanner
	s.Init(file, b, nil, scanner.ScanComments)
	var out []byte
	last := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if where == "comment" && tok == token.COMMENT || where == "string" && tok == token.STRING {
			o := file.Offset(pos)
			end := o + len(lit)
			out = append(append(out, b[last:o]...), re.ReplaceAll(b[o:end], []byte(to))...)
			last = end
		}
	}
	out = append(out, b[last:]...)
	if _, err := parser.ParseFile(token.NewFileSet(), "", out, parser.ParseComments); err != nil {
		fmt.Println("PARSE", err)
		return b
	}
	return out
}
