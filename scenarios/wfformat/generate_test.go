package wfformat

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// For every shape, size and seed, the count must be exact, the trace valid, and equal arguments must give equal traces.
func TestGenerate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(Shapes()).Draw(t, "shape")
		tasks, seed := rapid.IntRange(8, 400).Draw(t, "tasks"), rapid.Uint64().Draw(t, "seed")
		trace, err := Generate(shape, tasks, seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := trace.Check(); err != nil || len(trace.Tasks) != tasks {
			t.Errorf("%d tasks, %v; want %d", len(trace.Tasks), err, tasks)
		}
		again, err := Generate(shape, tasks, seed)
		if err != nil || !reflect.DeepEqual(trace, again) {
			t.Errorf("a second time (%v):\n%s", err, cmp.Diff(trace, again))
		}
		other, err := Generate(shape, tasks, seed+1)
		if err != nil || reflect.DeepEqual(trace.Tasks, other.Tasks) {
			t.Errorf("another seed gives the same tasks (%v)", err)
		}
	})
}

func TestShapes(t *testing.T) {
	const tasks = 102
	type figures struct{ edges, depth, roots, sinks, widest int }
	want := map[Shape]figures{
		Scatter:   {200, 3, 1, 1, 100},
		ForkJoin:  {171, 32, 1, 1, 8}, // ten blocks of ten, and two forks with nothing to join
		Pipelines: {81, 5, 21, 21, 1}, // twenty chains of five, and one of two
		Montage:   {248, 7, 24, 1, 50},
	}
	for shape, w := range want {
		trace, err := Generate(shape, tasks, 3)
		if err != nil {
			t.Fatal(err)
		}
		got := figures{edges: trace.Edges(), depth: trace.Depth(), roots: len(trace.Roots()), sinks: len(trace.Sinks())}
		for _, task := range trace.Tasks {
			got.widest = max(got.widest, len(task.Parents))
		}
		if got != w {
			t.Errorf("%s: %+v, want %+v", shape, got, w)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		tasks int
		want  string
	}{
		{"star\n", 10, `there is no shape "star\n" of traces; take one of scatter, forkjoin, montage, pipelines, layered`},
		{Scatter, 2, `a trace of the shape scatter has from 3 to 100000 tasks, not 2`},
		{Montage, 7, `a trace of the shape montage has from 8 to 100000 tasks, not 7`},
		{Layered, 0, `a trace of the shape layered has from 1 to 100000 tasks, not 0`},
		{ForkJoin, -5, `a trace of the shape forkjoin has from 1 to 100000 tasks, not -5`},
		{Pipelines, 100_001, `a trace of the shape pipelines has from 1 to 100000 tasks, not 100001`},
	} {
		if _, err := Generate(c.shape, c.tasks, 0); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	for _, shape := range []Shape{ForkJoin, Pipelines, Layered} {
		if trace, err := Generate(shape, 1, 0); err != nil || len(trace.Tasks) != 1 {
			t.Errorf("%s of one task: %v", shape, err)
		}
	}
}

// The file must have what the format's schema requires.
func TestGeneratedIsValid(t *testing.T) {
	trace, err := Generate(Layered, 30, 1)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written(t, trace))
	for _, part := range []string{
		`"name": "layered-30-1"`, `"schemaVersion": "1.5"`, `"createdAt": "`, `"makespanInSeconds": `,
		`"executedAt": "`, `"parents": []`, `"children": []`, `"sizeInBytes": `, `"runtimeInSeconds": `,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing", part)
		}
	}
	if strings.Contains(text, "null") {
		t.Error("there is a null")
	}
}
