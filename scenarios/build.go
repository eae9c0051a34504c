package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/nearest"
	"pulley/internal/yamlfile"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
	"pulley/scenarios/generate"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

type building struct {
	*spec
	size    int
	opts    Options
	stage   template.Env // size and parameters
	actions *behaviour.Actions
	made    *flow // once requested
	verify  bool  // compare the file's expectations with the reference even if they could be believed
	steps   int   // the reference's; zero: the default
}

type flow struct {
	graph    *graph.Graph
	source   string
	tree     *ir.Program
	result   func(start int64) (json.RawMessage, error) // for a graph built in Go
	nodes    int                                        // for a graph built in Go
	trace    *wfformat.Trace
	input    json.RawMessage // if the file has none
	warnings []string
	name     string
	size     int
}

func (s *spec) building(size int, opts Options) (*building, error) {
	b := &building{spec: s, size: size, opts: opts, stage: template.Env{nameSize: starlarkInt(size)}}
	for _, p := range s.parameters {
		b.stage[p.name] = p.value
	}
	for name, text := range opts.Set {
		if err := s.hasParameter(name); err != nil {
			return nil, err
		}
		value, err := settingOf(name, text)
		if err != nil {
			return nil, err
		}
		b.stage[name] = value
	}
	for name, value := range opts.set {
		b.stage[name] = value
	}
	var err error
	payload := s.pressure.Payload
	if opts.Undisturbed {
		payload = nil
	}
	b.actions, err = s.describe(opts.Seed, payload)
	return b, err
}

func (b *building) flow() (flow, error) {
	if b.made == nil {
		f, err := b.body.flow(b)
		if err != nil {
			return f, err
		}
		b.made = &f
	}
	return *b.made, nil
}

func (b *building) mix() (*Mix, error) {
	if m, is := b.body.(*mixBody); is {
		return b.mixed(m)
	}
	f, err := b.flow()
	if err != nil {
		return nil, err
	}
	m := &Mix{Name: b.name, Size: b.size}
	if f.name != "" {
		m.Name, m.Size = f.name, f.size
	}
	reference, err := b.interpreter(f)
	if err != nil {
		return nil, err
	}
	warnings := append(slices.Clone(f.warnings), b.warnings(f)...)
	for variant := range b.variants {
		w, err := b.workload(f, reference, variant)
		if err != nil {
			return nil, err
		}
		w.Name, w.Size, w.Warnings = m.Name, m.Size, warnings
		m.Workloads, m.Order = append(m.Workloads, w), append(m.Order, variant)
	}
	return m, nil
}

// mixed combines the mixes of the parts. Each part has as many turns as its weight, in an order drawn anew for each round.
// Within a part, its workloads take turns.
func (b *building) mixed(m *mixBody) (*Mix, error) {
	out := &Mix{Name: b.name, Size: b.size}
	var orders [][]int // by part, as indices of out.Workloads
	var deck []int
	rounds := 1
	for i, p := range m.parts {
		size := p.scenario.DefaultSizes[0]
		if p.size != nil {
			var err error
			if size, err = p.size.Int(b.stage, "the size of "+p.scenario.Name, p.scenario.SizeMin, p.scenario.SizeMax); err != nil {
				return nil, err
			}
		}
		opts := b.opts
		opts.Set, opts.set, opts.Trace = nil, p.set, nil
		part, err := p.scenario.spec.building(size, opts)
		if err != nil {
			return nil, err
		}
		part.verify, part.steps = b.verify, b.steps
		made, err := part.mix()
		if err != nil {
			return nil, fmt.Errorf("%s of size %d: %w", p.scenario.Name, size, err)
		}
		var order []int
		for _, of := range made.Order {
			order = append(order, len(out.Workloads)+of)
		}
		out.Workloads, orders = append(out.Workloads, made.Workloads...), append(orders, order)
		deck = append(deck, slices.Repeat([]int{i}, p.weight)...)
		rounds = max(rounds, (len(order)+p.weight-1)/p.weight)
	}
	r := dist.NewKey().Text("mix").Text(b.name).Rand(b.opts.Seed)
	out.Order = shuffled(r, deck, orders, min(rounds, max(1, deckMax/len(deck))))
	return out, nil
}

// shuffled deals a deck of parts for several rounds, shuffling each, and takes each part's workloads in turn.
func shuffled(r *rand.Rand, deck []int, orders [][]int, rounds int) []int {
	var out []int
	next := make([]int, len(orders))
	for range rounds {
		r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		for _, part := range deck {
			order := orders[part]
			out = append(out, order[next[part]%len(order)])
			next[part]++
		}
	}
	return out
}

func (b *building) workload(f flow, reference *interpreter, variant int) (Workload, error) {
	w := Workload{
		Graph: f.graph, Source: f.source, Unchecked: b.unchecked, Actions: f.graph.Actions(), Behaviour: b.actions,
	}
	if !b.files.ships {
		w.Bundle = &Bundle{Root: b.file, Files: b.files.seen}
	}
	env, err := b.environment(variant)
	if err != nil {
		return w, err
	}
	if w.Input = f.input; b.given {
		inputs, err := b.inputs(env)
		if err != nil {
			return w, err
		}
		w.Input = inputs
	}
	if err := b.takes(f.graph.Inputs); err != nil {
		return w, err
	}
	if b.opts.Unjudged {
		return w, nil
	}
	return w, b.judge(&w, f, reference, env, variant)
}

func (b *building) environment(variant int) (template.Env, error) {
	env := template.Env{nameInstance: starlarkInt(variant)}
	for name, value := range b.stage {
		env[name] = value
	}
	for _, d := range b.draws {
		env[d.name] = starlark.MakeInt64(d.law.Draw(dist.NewKey().Text("draw").Text(d.name).Number(variant).Rand(b.opts.Seed)))
	}
	return env, nil
}

// inputs evaluates main's input and adds its values for expectations.
func (b *building) inputs(env template.Env) (json.RawMessage, error) {
	text := []byte{'{'}
	values := template.Env{}
	for i, f := range b.input {
		value, err := f.value.Eval(env)
		if err != nil {
			return nil, err
		}
		encoded, err := expr.Encode(value)
		if err != nil {
			return nil, ir.Errorf(f.pos, "input %s: %s", f.name, err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, name...), ':'), encoded...)
		values[f.name] = value
	}
	for name, value := range values { // an input's name hides a parameter's, but not for other inputs
		env[name] = value
	}
	return append(text, '}'), nil
}

func (s *spec) takes(inputs []string) error {
	if !s.given && (len(inputs) == 0 || isGenerated(s.body)) {
		return nil
	}
	var errs []error
	for _, f := range s.inputNames {
		if !slices.Contains(inputs, f.Name) {
			meant := "it takes " + listed(inputs)
			if word := nearest.Word(f.Name, inputs); word != "" {
				meant = "did you mean " + word + "?"
			}
			errs = append(errs, ir.Errorf(f.Pos, "main takes no %s; %s", f.Name, meant))
		}
	}
	for _, name := range inputs {
		if !slices.ContainsFunc(s.inputNames, func(f yamlfile.Field) bool { return f.Name == name }) {
			errs = append(errs, ir.Errorf(s.inputPos, "main takes %s; give it under input", name))
		}
	}
	return errors.Join(errs...)
}

func isGenerated(of body) bool {
	_, is := of.(*generateBody)
	return is
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func (b *building) parse(file string, source []byte) (flow, error) {
	tree, err := ir.Parse(file, source, b.opts.Limits)
	if err != nil {
		return flow{}, err
	}
	g, err := graph.Compile(tree, b.opts.Limits)
	return flow{graph: g, tree: tree, source: string(source), input: json.RawMessage("{}")}, err
}

func (p *programBody) flow(b *building) (flow, error) {
	f, err := b.parse(p.file, p.text)
	if err == nil && !b.files.ships {
		f.graph.Name = b.files.display(b.file) // so that scenarios with the same program and different actions can run together
	}
	return f, err
}

func (p *mixBody) flow(*building) (flow, error) {
	return flow{}, errors.New("a mix has no workflow of its own") // unreachable
}

const generatedStart = `{"start":1}`

func (p *generateBody) flow(b *building) (flow, error) {
	shape, err := generate.Find(p.shape)
	if err != nil {
		return flow{}, err
	}
	values := generate.Values{Numbers: map[string]int{}, Laws: map[string]*dist.Law{}, Shares: p.shares, Names: p.names}
	for name, law := range p.laws {
		values.Laws[name] = law
	}
	for name, number := range p.numbers {
		n, err := number.Int(b.stage, name, p.bounds[name][0], p.bounds[name][1])
		if err != nil {
			return flow{}, err
		}
		if parameter, _ := shape.Parameter(name); parameter.Kind == generate.Law {
			if values.Laws[name], err = dist.Parse(strconv.Itoa(n), dist.Counts, nil); err != nil {
				return flow{}, err
			}
			continue
		}
		values.Numbers[name] = n
	}
	seed, err := b.seedOf(p.seed)
	if err != nil {
		return flow{}, err
	}
	made, err := shape.Write(values, seed, b.opts.Limits)
	if err != nil {
		return flow{}, placedAt(p.pos, b.files.ships, err)
	}
	if made.Graph != nil {
		return flow{graph: made.Graph, nodes: made.Nodes, result: made.Result, input: json.RawMessage(generatedStart)}, nil
	}
	f, err := b.parse(b.name+".ir", []byte(made.Source))
	f.input = json.RawMessage(generatedStart)
	return f, err
}

func placedAt(pos ir.Pos, ships bool, err error) error {
	var placed *ir.Error
	if ships || err == nil || errors.As(err, &placed) {
		return err
	}
	return ir.Errorf(pos, "%s", err)
}

func (b *building) seedOf(t *template.Template) (uint64, error) {
	if t == nil {
		return b.opts.Seed, nil
	}
	n, err := t.Int(b.stage, "seed", 0, 1<<53)
	return uint64(n), err
}

const traceName = "trace"

func (p *traceBody) flow(b *building) (flow, error) {
	f := flow{input: json.RawMessage("{}")}
	t := p.trace
	given := t != nil || b.opts.Trace != nil
	switch {
	case t == nil && b.opts.Trace != nil:
		t = b.opts.Trace
		f.name, f.size = traceName+":"+t.Label(), len(t.Tasks)
	case t == nil:
		tasks, err := p.tasks.Int(b.stage, "tasks", 0, sizeMax)
		if err != nil {
			return f, err
		}
		seed, err := b.seedOf(p.seed)
		if err != nil {
			return f, err
		}
		shape := p.shape
		if b.opts.Shape != "" {
			shape = b.opts.Shape
		}
		if t, err = wfformat.Generate(shape, tasks, seed); err != nil {
			return f, placedAt(p.pos, b.files.ships, err)
		}
	default:
		f.name, f.size = b.name, len(t.Tasks)
	}
	if given && b.size != 0 && b.size != len(t.Tasks) {
		return f, fmt.Errorf("the trace %q has %d tasks; leave the size out", t.Label(), len(t.Tasks))
	}
	scale := b.opts.TimeScale
	if p.scale != nil {
		scale = *p.scale
	}
	opts := wfformat.GraphOptions{TimeScale: scale, Limits: b.opts.Limits}
	f.trace, f.nodes, f.warnings = t, len(t.Tasks), t.Warnings
	var err error
	if t == p.trace {
		f.graph, err = p.kept.of(t, opts)
	} else {
		f.graph, err = t.Graph(opts)
	}
	return f, err
}
