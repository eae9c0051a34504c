package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

type env map[string]any

func (e env) number(name string) int {
	switch v := e[name].(type) {
	case int:
		return v
	case []int:
		sum := 0
		for _, n := range v {
			sum += n
		}
		return sum
	}
	panic("no value " + name)
}

type part struct {
	add   func(o *graph.Body, before map[string]*graph.NodeBuilder) *graph.NodeBuilder
	value func(e env) any
	name  string
}

type bodies struct {
	*rapid.T
	serial int
	lists  map[string]bool
}

func (b *bodies) name() string {
	b.serial++
	return fmt.Sprintf("x%d", b.serial)
}

func (b *bodies) text(name string) string {
	if b.lists[name] {
		return "sum(" + name + ")"
	}
	return name
}

// after makes a node wait for what it reads, if that is a node of its body.
func after(n *graph.NodeBuilder, before map[string]*graph.NodeBuilder, names ...string) *graph.NodeBuilder {
	for _, name := range names {
		if from := before[name]; from != nil {
			n.After(from)
		}
	}
	return n
}

// Each part may read earlier ones and outer names.
func (b *bodies) body(outer []string, depth int) []part {
	var parts []part
	names := slices.Clone(outer)
	for range rapid.IntRange(1, 4).Draw(b.T, "parts") {
		p := b.part(rapid.SampledFrom(names).Draw(b.T, "reads"), names, depth)
		parts, names = append(parts, p), append(names, p.name)
	}
	return parts
}

func (b *bodies) part(read string, names []string, depth int) part {
	kinds := []string{"action", "choice", "race"}
	if depth > 0 {
		kinds = append(kinds, "map", "for", "map", "for")
	}
	kind := rapid.SampledFrom(kinds).Draw(b.T, "kind")
	switch name := b.name(); kind {
	case "choice":
		return b.choice(name, read)
	case "race":
		return b.race(name, read)
	case "map", "for":
		return b.each(name, read, names, depth, kind == "for")
	default:
		other := rapid.SampledFrom(names).Draw(b.T, "reads too")
		return part{name: name,
			add: func(o *graph.Body, before map[string]*graph.NodeBuilder) *graph.NodeBuilder {
				return after(o.Action(name, "echo", arg("value", b.text(read)+" + "+b.text(other)+" + 1")), before, read, other)
			},
			value: func(e env) any { return e.number(read) + e.number(other) + 1 },
		}
	}
}

func (b *bodies) choice(name, read string) part {
	even := b.text(read) + " % 2 == 0"
	return part{name: name,
		add: func(o *graph.Body, before map[string]*graph.NodeBuilder) *graph.NodeBuilder {
			x := o.Action(name+"even", "echo", arg("value", b.text(read)+" + 1"))
			y := o.Action(name+"odd", "double", arg("value", b.text(read)))
			after(o.Branch(name+"if"), before, read).Case(even, x).Else(y)
			return o.Action(name, "echo", arg("value", fmt.Sprintf("%seven if %s else %sodd", name, even, name))).AfterAny(x, y)
		},
		value: func(e env) any {
			if n := e.number(read); n%2 == 0 {
				return n + 1
			} else {
				return 2 * n
			}
		},
	}
}

func (b *bodies) race(name, read string) part {
	return part{name: name,
		add: func(o *graph.Body, before map[string]*graph.NodeBuilder) *graph.NodeBuilder {
			n := after(o.Action(name, "double", arg("value", b.text(read))), before, read)
			for i := range 3 {
				n.AfterAny(after(o.Action(name+strconv.Itoa(i)+"r", "noop"), before, read))
			}
			return n
		},
		value: func(e env) any { return 2 * e.number(read) },
	}
}

func (b *bodies) each(name, read string, names []string, depth int, loop bool) part {
	item := b.name()
	inner := append(slices.Clone(names), item)
	if loop && rapid.Bool().Draw(b.T, "reads itself") {
		inner = append(inner, name)
	}
	b.lists[name] = true
	limit := rapid.IntRange(0, 2).Draw(b.T, "limit")
	parts := b.body(inner, depth-1)
	last := parts[len(parts)-1].name
	return part{name: name,
		add: func(o *graph.Body, before map[string]*graph.NodeBuilder) *graph.NodeBuilder {
			e := o.Each(name, item, fmt.Sprintf("range(%s %% 4)", b.text(read)))
			b.build(&e.Body, parts, fmt.Sprintf("%s + %s", b.text(last), item))
			node := e.Map
			if loop {
				node = func(int) *graph.NodeBuilder { return e.For() }
			}
			n := node(limit)
			return after(n, before, slices.Sorted(maps.Keys(before))...)
		},
		value: func(e env) any {
			list := []int{}
			for i := range e.number(read) % 4 {
				in := maps.Clone(e)
				in[item], in[name] = i, list
				for _, p := range parts {
					in[p.name] = p.value(in)
				}
				list = append(slices.Clone(list), in.number(last)+i)
			}
			return list
		},
	}
}

// The output waits for all parts.
func (b *bodies) build(o *graph.Body, parts []part, output string) {
	before := map[string]*graph.NodeBuilder{}
	for _, p := range parts {
		before[p.name] = p.add(o, before)
	}
	end := o.Output(output)
	for _, p := range parts {
		end.After(before[p.name])
	}
}

// Random graphs with nested bodies complete in random order. The value must be that of a sequential computation.
func TestRandomBodies(t *testing.T) {
	seen := map[string]int{}
	depth.Checks(t, 50, 500)
	rapid.Check(t, func(t *rapid.T) {
		b := &bodies{T: t, lists: map[string]bool{}}
		parts := b.body([]string{"n"}, 3)
		builder := graph.New("g", "n")
		last := parts[len(parts)-1].name
		b.build(&builder.Body, parts, b.text(last))
		g, err := builder.Build()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Nodes {
			seen[string(n.Kind)]++
		}
		p, err := plan.Compile(g)
		if err != nil {
			t.Fatal(err)
		}
		d := newDriver(p)
		d.act = act
		d.pick = func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") }
		n := rapid.IntRange(0, 7).Draw(t, "n")
		if err := d.run(fmt.Sprintf(`{"n": %d}`, n)); err != nil {
			t.Fatalf("%v\n%s\n%s", err, g.Text(), d.trace.String())
		}
		e := env{"n": n}
		for _, p := range parts {
			e[p.name] = p.value(e)
		}
		if want := strconv.Itoa(e.number(last)); d.end.Failure != nil || string(d.end.Result) != want {
			t.Fatalf("%v, %s, want %s\n%s\n%s", d.end.Failure, d.end.Result, want, g.Text(), d.trace.String())
		}
	})
	for _, kind := range strings.Fields("branch spread aggregate loop_head loop_exit join return assign") {
		if seen[kind] == 0 {
			t.Errorf("no graph has a %s", kind)
		}
	}
}
