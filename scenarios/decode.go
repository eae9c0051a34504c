package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/internal/yamlfile"
	"pulley/scenarios/dist"
	"pulley/scenarios/template"
)

// Names that expressions of a scenario may always read.
const (
	nameSize     = "size"
	nameInstance = "instance"
)

// SizeUnbounded is the SizeMax of a scenario without a largest size: engine limits are reached before.
const SizeUnbounded = 1 << 40

const (
	variantsMax = 10_000
	sizeMax     = SizeUnbounded
	includesMax = 16 // nesting of mixes
)

type decoder struct {
	*yamlfile.Report
	*spec
	includes []string // being read, outermost first
	raw      raw
}

// raw are the values of the file's keys, read in the order of their dependencies.
type raw struct {
	about, program, generate, trace, mix, parameters, draw, sizes, variants, input, actions *yamlfile.Value
	arrivals, expect, checks, run, objective, pressure                                      *yamlfile.Value
}

// decode reads a file and those it names. After reported mistakes the spec must not be used.
func decode(f *files, file string, includes []string, r *yamlfile.Report) *spec {
	s := &spec{files: f, file: file, name: nameOf(file), variants: 1, actionsAt: map[string]ir.Pos{}, pos: ir.Pos{File: f.display(file), Line: 1, Col: 1}}
	data, err := f.read(file, yamlfile.BytesMax)
	if err != nil {
		r.Add(s.pos, "%s; name the file of a scenario, or one of those that ship", withoutFile(err, s.pos.File))
		return s
	}
	root := yamlfile.Parse(s.pos.File, data, r)
	if root == nil {
		return s
	}
	d := &decoder{Report: r, spec: s, includes: append(slices.Clone(includes), file)}
	d.pos = root.Pos
	if d.keys(root) {
		d.all()
	}
	return s
}

// withoutFile removes a name that the position has.
func withoutFile(err error, file string) string {
	return strings.TrimPrefix(err.Error(), file+": ")
}

func (d *decoder) keys(root *yamlfile.Value) bool {
	var known []yamlfile.Key
	for _, k := range []struct {
		name string
		into **yamlfile.Value
	}{
		{"about", &d.raw.about}, {"program", &d.raw.program}, {"generate", &d.raw.generate}, {"trace", &d.raw.trace}, {"mix", &d.raw.mix},
		{"parameters", &d.raw.parameters}, {"sizes", &d.raw.sizes}, {"variants", &d.raw.variants}, {"draw", &d.raw.draw}, {"input", &d.raw.input},
		{"actions", &d.raw.actions}, {"arrivals", &d.raw.arrivals}, {"expect", &d.raw.expect}, {"checks", &d.raw.checks}, {"run", &d.raw.run},
		{"objective", &d.raw.objective}, {"pressure", &d.raw.pressure},
	} {
		known = append(known, yamlfile.Key{Name: k.name, Read: func(v *yamlfile.Value) {
			if !v.IsNull() { // an empty key counts as absent
				*k.into = v
			}
		}})
	}
	return d.Fields(root, "a scenario", known...)
}

func (d *decoder) all() {
	if d.raw.about == nil {
		d.Add(d.pos, "the key about is missing; say in one line what the scenario is")
	} else {
		d.about, _ = d.Line(d.raw.about, "about")
	}
	d.readParameters()
	d.readDraw()
	d.readSizes()
	if d.raw.variants != nil {
		if n, ok := d.Int(d.raw.variants, "variants", 1, variantsMax); ok {
			d.variants = n
		}
	}
	d.readBody()
	d.readInput()
	d.readActions()
	d.readExpect()
	d.readChecks()
	d.readArrivals()
	d.readRun()
	d.readObjective()
	d.readPressure()
	d.useless()
	d.checkProgram(d.Report)
}

// useless rejects keys that a mix takes from its parts.
func (d *decoder) useless() {
	if d.raw.mix == nil {
		return
	}
	for name, v := range map[string]*yamlfile.Value{
		"input": d.raw.input, "variants": d.raw.variants, "draw": d.raw.draw, "actions": d.raw.actions, "expect": d.raw.expect, "checks": d.raw.checks,
	} {
		if v != nil {
			d.Add(v.Pos, "a mix has no %s of its own; write it in the scenarios that are mixed", name)
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *decoder) newName(f yamlfile.Field, what string) bool {
	switch {
	case !identifier.MatchString(f.Name):
		d.Add(f.Pos, "%s %q is no name that an expression can read; write letters, digits and _", what, f.Name)
	case f.Name == nameSize || f.Name == nameInstance:
		d.Add(f.Pos, "%s cannot be called %s, which is known in any case; take another name", what, f.Name)
	case slices.Contains(d.stageNames(), f.Name):
		d.Add(f.Pos, "%s is called %s, and so is a parameter; take another name", what, f.Name)
	default:
		return true
	}
	return false
}

func (d *decoder) readParameters() {
	v := d.raw.parameters
	if v == nil {
		return
	}
	for _, f := range d.Map(v, "parameters") {
		if !d.newName(f, "a parameter") {
			continue
		}
		if text, _ := f.Value.Scalar(); f.Value.IsText() {
			if _, is := template.IsExpression(text); is {
				d.Add(f.Value.Pos, "a parameter is a value, which a command may set, and no expression; write the expression where the parameter is read")
				continue
			}
		}
		value, err := template.Literal(f.Value)
		d.AddError(f.Value.Pos, err)
		d.parameters = append(d.parameters, parameter{f.Name, value})
	}
}

func (d *decoder) readDraw() {
	v := d.raw.draw
	if v == nil {
		return
	}
	for _, f := range d.Map(v, "what is drawn") {
		if !d.newName(f, "what is drawn") {
			continue
		}
		if law := d.law(f.Value, f.Name, dist.Counts); law != nil {
			d.draws = append(d.draws, draw{f.Name, law})
		}
	}
}

// law returns nil after a mistake.
func (d *decoder) law(v *yamlfile.Value, what string, unit dist.Unit) *dist.Law {
	text, ok := d.Line(v, what)
	if !ok {
		return nil
	}
	law, err := dist.Parse(text, unit, d.samples(unit))
	if err != nil {
		d.Add(v.Pos, "%s: %s", what, err)
		return nil
	}
	return law
}

func (d *decoder) stageNames() []string {
	names := []string{nameSize}
	for _, p := range d.parameters {
		names = append(names, p.name)
	}
	slices.Sort(names[1:])
	return names
}

func (d *decoder) names() []string {
	names := append(d.stageNames(), nameInstance)
	for _, x := range d.draws {
		names = append(names, x.name)
	}
	return names
}

func (d *decoder) readSizes() {
	d.sizes = sizes{means: "it comes in one size", list: []int{1}, least: 1, most: 1, pos: d.pos, fixed: true}
	v := d.raw.sizes
	if v == nil {
		return
	}
	s := sizes{means: "size", least: 1, most: sizeMax, pos: v.Pos}
	var list *yamlfile.Value
	ok := d.Fields(v, "sizes",
		yamlfile.Key{Name: "means", Read: func(v *yamlfile.Value) { s.means, _ = d.Line(v, "means") }},
		yamlfile.Key{Name: "default", Read: func(v *yamlfile.Value) { list = v }},
		yamlfile.Key{Name: "least", Read: func(v *yamlfile.Value) { s.least = d.orKeep(v, "least", s.least, 0, sizeMax) }},
		yamlfile.Key{Name: "most", Read: func(v *yamlfile.Value) { s.most = d.orKeep(v, "most", s.most, 0, sizeMax) }},
	)
	switch {
	case !ok:
		return
	case s.most < s.least:
		d.Add(v.Pos, "the least size is %d, and the most %d; write the smaller one as least", s.least, s.most)
		return
	case list == nil || len(d.List(list)) == 0:
		d.Add(v.Pos, "sizes need a default; write one, or some that ascend, as in default: [10, 50]")
		return
	}
	for _, item := range d.List(list) {
		n, ok := d.Int(item, "a default size", s.least, s.most)
		if ok && len(s.list) > 0 && n <= s.list[len(s.list)-1] {
			d.Add(item.Pos, "default sizes ascend, and %d stands behind %d; sort them", n, s.list[len(s.list)-1])
		} else if ok {
			s.list = append(s.list, n)
		}
	}
	if len(s.list) > 0 {
		d.sizes = s
	}
}

// orKeep reads a whole number, and returns before after a mistake.
func (d *decoder) orKeep(v *yamlfile.Value, what string, before, least, most int) int {
	if n, ok := d.Int(v, what, least, most); ok {
		return n
	}
	return before
}

func (d *decoder) readInput() {
	v := d.raw.input
	if d.inputPos = d.pos; d.body != nil {
		d.inputPos = d.body.position()
	}
	if v == nil {
		return
	}
	d.given, d.inputPos = true, v.Pos
	for _, f := range d.Map(v, "the inputs of main") {
		d.inputNames = append(d.inputNames, f)
		if compiled := template.Compile(f.Value, d.names(), d.Report); compiled != nil {
			d.input = append(d.input, field{f.Name, f.Pos, compiled})
		}
	}
}

func (d *decoder) readExpect() {
	v := d.raw.expect
	if v == nil {
		return
	}
	names := d.names()
	for _, f := range d.input {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	compile := func(into **template.Template) func(*yamlfile.Value) {
		return func(v *yamlfile.Value) { *into = template.Compile(v, names, d.Report) }
	}
	d.Fields(v, "expect",
		yamlfile.Key{Name: "result", Read: compile(&d.expect.result)},
		yamlfile.Key{Name: "nodes", Read: compile(&d.expect.nodes)},
		yamlfile.Key{Name: "failure", Read: d.readFailure},
	)
	if d.expect.result != nil && d.expect.failure != nil {
		d.Add(v.Pos, "an instance gives a result or fails; expect one of both")
	}
}

func (d *decoder) readFailure(v *yamlfile.Value) {
	f := &failure{pos: v.Pos}
	text := func(into *string, what string) func(*yamlfile.Value) {
		return func(v *yamlfile.Value) { *into, _ = d.Text(v, what) }
	}
	if d.Fields(v, "failure",
		yamlfile.Key{Name: "type", Read: text(&f.typ, "type")},
		yamlfile.Key{Name: "message", Read: text(&f.message, "message")},
		yamlfile.Key{Name: "action", Read: text(&f.action, "action")},
	) {
		f.action = strings.TrimPrefix(f.action, "@")
		d.expect.failure = f
	}
}

func (d *decoder) readChecks() {
	v := d.raw.checks
	if v == nil {
		return
	}
	d.unchecked = Unchecked{Results: true, Nodes: true}
	for _, item := range d.List(v) {
		switch text, ok := d.Line(item, "a check"); {
		case !ok:
		case text == "results":
			d.unchecked.Results = false
		case text == "nodes":
			d.unchecked.Nodes = false
		default:
			d.Add(item.Pos, "there is no check %q; %s", text, didYouMean(text, []string{"results", "nodes"}))
		}
	}
}

func starlarkInt(n int) expr.Value { return starlark.MakeInt(n) }
