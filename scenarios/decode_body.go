package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/internal/yamlfile"
	"pulley/scenarios/dist"
	"pulley/scenarios/generate"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

func (d *decoder) readBody() {
	var given []string
	for _, k := range []struct {
		name string
		v    *yamlfile.Value
		read func(*yamlfile.Value) body
	}{{"program", d.raw.program, d.readProgram}, {"generate", d.raw.generate, d.readGenerate}, {"trace", d.raw.trace, d.readTraceBody}, {"mix", d.raw.mix, d.readMix}} {
		if k.v == nil {
			continue
		}
		if given = append(given, k.name); len(given) > 1 {
			d.Add(k.v.Pos, "the scenario has %s and %s; leave one of both out", given[0], k.name)
			continue
		}
		d.body = k.read(k.v)
	}
	if len(given) == 0 {
		d.Add(d.pos, "the scenario runs nothing; name a program, as in program: orders.ir, or write generate, trace or mix")
	}
}

func (d *decoder) readProgram(v *yamlfile.Value) body {
	name, ok := d.Line(v, "program")
	if !ok {
		return nil
	}
	if strings.Contains(name, "\n") || strings.HasSuffix(name, ".yaml") {
		d.Add(v.Pos, "program names a file with a program of the workflow language, as in orders.ir, and not %q", name)
		return nil
	}
	file := alongside(d.file, name)
	text, err := d.files.read(file, ir.Limits{}.WithDefaults().SourceBytes)
	if err != nil {
		d.Add(v.Pos, "the program cannot be read: %s; name one in the scenario's folder", err)
		return nil
	}
	return &programBody{pos: v.Pos, file: d.files.display(file), text: text}
}

func (d *decoder) readGenerate(v *yamlfile.Value) body {
	b := &generateBody{
		pos: v.Pos, numbers: map[string]*template.Template{}, bounds: map[string][2]int{}, laws: map[string]*dist.Law{},
		shares: map[string]float64{}, names: map[string]string{},
	}
	var shape generate.Shape
	for _, f := range v.Fields() {
		if f.Name != "shape" {
			continue
		}
		name, ok := d.Line(f.Value, "shape")
		if !ok {
			return nil
		}
		var err error
		if shape, err = generate.Find(name); err != nil {
			d.Add(f.Value.Pos, "%s", err)
			return nil
		}
	}
	if v.IsMap() && shape.Name == "" {
		d.Add(v.Pos, "generate needs a shape: one of %s", shapeNames())
		return nil
	}
	b.shape = shape.Name
	keys := []yamlfile.Key{{Name: "shape", Read: func(*yamlfile.Value) {}}, {Name: "seed", Read: func(v *yamlfile.Value) {
		b.seed = template.Compile(v, d.stageNames(), d.Report)
	}}}
	for _, p := range shape.Parameters {
		keys = append(keys, yamlfile.Key{Name: p.Name, Read: func(v *yamlfile.Value) { d.generateParameter(b, p, v) }})
	}
	if !d.Fields(v, "generate", keys...) {
		return nil
	}
	for _, p := range shape.Parameters {
		if p.Default == "" && !slices.ContainsFunc(v.Fields(), func(f yamlfile.Field) bool { return f.Name == p.Name }) {
			d.Add(v.Pos, "the shape %s needs %s: %s", shape.Name, p.Name, p.Doc)
		}
	}
	return b
}

func shapeNames() string {
	var names []string
	for _, s := range generate.Shapes() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func (d *decoder) generateParameter(b *generateBody, p generate.Parameter, v *yamlfile.Value) {
	text, _ := v.Scalar()
	_, expression := template.IsExpression(text)
	switch {
	case p.Kind == generate.Name:
		b.names[p.Name], _ = d.Line(v, p.Name)
		b.names[p.Name] = strings.TrimPrefix(b.names[p.Name], "@")
	case p.Kind == generate.Share:
		if share, ok := d.share(v, p.Name); ok {
			b.shares[p.Name] = share
		}
	case p.Kind == generate.Law && !expression:
		if law := d.law(v, p.Name, dist.Counts); law != nil {
			b.laws[p.Name] = law
		}
	default: // a number, or a law that is one
		if compiled := template.Compile(v, d.stageNames(), d.Report); compiled != nil {
			b.numbers[p.Name], b.bounds[p.Name] = compiled, [2]int{p.Least, p.Most}
		}
	}
}

func (d *decoder) readTraceBody(v *yamlfile.Value) body {
	b := &traceBody{pos: v.Pos}
	if !v.IsMap() {
		if name, ok := d.Line(v, "trace"); ok {
			b.trace = d.traceFile(v, name)
		}
		return b
	}
	file := ""
	var fileAt *yamlfile.Value
	d.Fields(v, "trace",
		yamlfile.Key{Name: "file", Read: func(v *yamlfile.Value) { file, _ = d.Line(v, "file"); fileAt = v }},
		yamlfile.Key{Name: "shape", Read: func(v *yamlfile.Value) { b.shape = d.traceShape(v) }},
		yamlfile.Key{Name: "tasks", Read: func(v *yamlfile.Value) { b.tasks = template.Compile(v, d.stageNames(), d.Report) }},
		yamlfile.Key{Name: "seed", Read: func(v *yamlfile.Value) { b.seed = template.Compile(v, d.stageNames(), d.Report) }},
		yamlfile.Key{Name: "time_scale", Read: func(v *yamlfile.Value) { b.scale = d.timeScale(v) }},
	)
	switch {
	case fileAt != nil && (b.shape != "" || b.tasks != nil || b.seed != nil):
		d.Add(v.Pos, "a trace that is read has its own shape and tasks; leave file out, or the others")
	case fileAt != nil && file != "":
		b.trace = d.traceFile(fileAt, file)
	case fileAt == nil && (b.shape == "" || b.tasks == nil):
		d.Add(v.Pos, "a trace is read from a file, or generated from a shape and a number of tasks; write file, or shape and tasks")
	}
	return b
}

func (d *decoder) traceShape(v *yamlfile.Value) wfformat.Shape {
	text, ok := d.Line(v, "shape")
	var names []string
	for _, s := range wfformat.Shapes() {
		names = append(names, string(s))
	}
	if ok && !slices.Contains(names, text) {
		d.Add(v.Pos, "there is no shape %q of traces; %s", text, didYouMean(text, names))
	}
	return wfformat.Shape(text)
}

const timeScaleMax = 1e6

func (d *decoder) timeScale(v *yamlfile.Value) *float64 {
	var scale float64
	text, _ := v.Scalar()
	if _, err := fmt.Sscan(text, &scale); err != nil || !(scale >= 0) || scale > timeScaleMax {
		d.Add(v.Pos, "time_scale multiplies run times; choose from 0 to %v", timeScaleMax)
		return nil
	}
	return &scale
}

// traceFile reads a trace from the scenario's folder; nil after a mistake.
func (d *decoder) traceFile(v *yamlfile.Value, name string) *wfformat.Trace {
	t, err := d.readTrace(alongside(d.file, name))
	if err != nil {
		d.Add(v.Pos, "the trace cannot be read: %s", err)
		return nil
	}
	if d.raw.sizes != nil {
		d.Add(d.raw.sizes.Pos, "a trace that is read has the size that it has, %d tasks; leave sizes out", len(t.Tasks))
	}
	d.sizes = sizes{means: "tasks of the trace", list: []int{len(t.Tasks)}, least: 0, most: len(t.Tasks), pos: v.Pos}
	return t
}

const traceBytesMax = 256 << 20

func (d *decoder) readTrace(file string) (*wfformat.Trace, error) {
	data, err := d.files.read(file, traceBytesMax)
	if err != nil {
		return nil, err
	}
	return wfformat.Parse(d.files.display(file), data, wfformat.Limits{})
}

func (d *decoder) readMix(v *yamlfile.Value) body {
	b := &mixBody{pos: v.Pos}
	if !v.IsList() || len(v.Items()) == 0 {
		d.Add(v.Pos, "mix is a list of scenarios, as in mix: [{scenario: fanout, size: 10, weight: 3}, {scenario: orders.yaml}]")
		return b
	}
	weights := 0
	for _, item := range v.Items() {
		if p, ok := d.readPart(item); ok {
			weights += p.weight
			b.parts = append(b.parts, p)
		}
	}
	if weights > deckMax {
		d.Add(v.Pos, "the weights add up to %d, and %d are the most; make them smaller", weights, deckMax)
	}
	return b
}

const deckMax = 10_000

func (d *decoder) readPart(v *yamlfile.Value) (part, bool) {
	p := part{pos: v.Pos, weight: 1}
	name := ""
	var at, set *yamlfile.Value
	before := d.Count()
	d.Fields(v, "a part of a mix",
		yamlfile.Key{Name: "scenario", Read: func(v *yamlfile.Value) { name, _ = d.Line(v, "scenario"); at = v }},
		yamlfile.Key{Name: "size", Read: func(v *yamlfile.Value) { p.size = template.Compile(v, d.stageNames(), d.Report) }},
		yamlfile.Key{Name: "weight", Read: func(v *yamlfile.Value) { p.weight = d.orKeep(v, "weight", 1, 1, deckMax) }},
		yamlfile.Key{Name: "parameters", Read: func(v *yamlfile.Value) { set = v }},
	)
	switch {
	case at == nil && d.Count() == before:
		d.Add(v.Pos, "a part of a mix names a scenario, as in {scenario: fanout, size: 10}")
	case name != "":
		p.scenario = d.partScenario(at, name)
	}
	if set != nil && p.scenario.spec != nil {
		p.set = d.partParameters(set, p.scenario)
	}
	return p, d.Count() == before
}

func (d *decoder) partScenario(v *yamlfile.Value, name string) Scenario {
	if !isFile(name) {
		s, err := shipped(name)
		if err != nil {
			d.Add(v.Pos, "%s", err)
		}
		return s
	}
	file := alongside(d.file, name)
	switch {
	case slices.Contains(d.includes, file):
		d.Add(v.Pos, "%s is mixed into itself; take it out", d.files.display(file))
		return Scenario{}
	case len(d.includes) > includesMax:
		d.Add(v.Pos, "mixes are nested deeper than %d; make them flatter", includesMax)
		return Scenario{}
	}
	before := d.Count()
	read := decode(d.files, file, d.includes, d.Report)
	if d.Count() > before {
		return Scenario{}
	}
	return newScenario(read)
}

func (d *decoder) partParameters(v *yamlfile.Value, of Scenario) map[string]expr.Value {
	set := map[string]expr.Value{}
	for _, f := range d.Map(v, "parameters") {
		if err := of.spec.hasParameter(f.Name); err != nil {
			d.Add(f.Pos, "%s", err)
			continue
		}
		value, err := template.Literal(f.Value)
		d.AddError(f.Value.Pos, err)
		set[f.Name] = value
	}
	return set
}
