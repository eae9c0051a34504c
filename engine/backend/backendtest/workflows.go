package backendtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// Workflow is a program over Actions with its only right outcome.
type Workflow struct {
	Name   string
	Source string                // the program's text, or
	Build  func() *graph.Builder // a graph built in Go
	Input  string

	Want    string         // the result, byte for byte, if it completes
	Failure string         // the failure's type, if it fails
	At      string         // the failure's position as line:column, if checked
	Runs    map[string]int // expected runs of some nodes, by name; zero means none
}

// Program compiles the workflow, or fails the test.
func (w Workflow) Program(t testing.TB) *plan.Program {
	t.Helper()
	if w.Build == nil {
		return MustCompile(t, w.Source)
	}
	g, err := w.Build().Build()
	if err != nil {
		t.Fatalf("building the graph: %v", err)
	}
	return mustPlan(t, g)
}

// Expect returns how an instance differs from the workflow's right outcome (I6, I7).
func (w Workflow) Expect(got backend.Instance) error {
	switch {
	case w.Failure == "" && (got.Status != backend.Completed || string(got.Result) != w.Want):
		return fmt.Errorf("I7: instance %s %s; want it completed with %s", got.ID, describe(got), w.Want)
	case w.Failure == "":
		return nil
	case got.Status != backend.Failed || got.Failure == nil || got.Failure.Type != w.Failure:
		return fmt.Errorf("I7: instance %s %s; want it failed with %s", got.ID, describe(got), w.Failure)
	case w.At != "" && fmt.Sprintf("%d:%d", got.Failure.Pos.Line, got.Failure.Pos.Col) != w.At:
		return fmt.Errorf("I7: instance %s failed at %s; want line:column %s", got.ID, got.Failure.Pos, w.At)
	}
	return nil
}

// Workflows returns the suite's programs: each construct of the language, graphs with hard and soft edges, retries, failures and
// difficult values. Names are unique.
func Workflows() []Workflow {
	return slices.Concat(straight, branching, looping, spreading, calling, failing, catching, gathering, sleeping, values, graphs)
}

var straight = []Workflow{
	{Name: "sequence", Input: `{"n": 3}`, Want: `14`, Source: `
fn main(input: [n], output: [z]):
    x = @double(value=n)
    y = @add(a=x, b=1)
    z = @double(value=y)
`},
	{Name: "no action", Input: `{"n": 20}`, Want: `42`, Source: `
fn main(input: [n], output: [z]):
    z = n * 2 + 2
`},
	{Name: "several outputs", Input: `{}`, Want: `[1,"two"]`, Source: `
fn main(input: [], output: [a, b]):
    a = @echo(value=1)
    b = @echo(value="two")
`},
	{Name: "result is dropped", Input: `{}`, Want: `null`, Source: `
fn main(input: [], output: []):
    @noop()
    x = @noop()
    return x
`},
	{Name: "unpack", Input: `{}`, Want: `[2,1]`, Source: `
fn main(input: [], output: [b, a]):
    a, b = @echo(value=[1, 2])
`},
}

var branching = []Workflow{
	{Name: "if", Input: `{"n": 7}`, Want: `14`, Source: choose},
	{Name: "elif", Input: `{"n": 3}`, Want: `103`, Source: choose},
	{Name: "else", Input: `{"n": 1}`, Want: `-1`, Source: choose},
	{Name: "if without else taken", Input: `{"n": 7}`, Want: `[14]`, Source: maybe},
	{Name: "if without else not taken", Input: `{"n": 1}`, Want: `[1]`, Source: maybe},
	{Name: "first arm does nothing", Input: `{"n": 9}`, Want: `9`, Source: `
fn main(input: [n], output: [n]):
    if n > 5:
        pass
    elif n > 2:
        n = @double(value=n)
    else:
        n = 0
`},
	{Name: "return from a branch", Input: `{"n": 1}`, Want: `"early"`, Runs: map[string]int{"double": 0}, Source: `
fn main(input: [n], output: [n]):
    if n == 1:
        return "early"
    n = @double(value=n)
`},
}

const choose = `
fn main(input: [n], output: [r]):
    if n > 5:
        r = @double(value=n)
    elif n > 2:
        r = @add(a=n, b=100)
    else:
        r = -1
`

const maybe = `
fn main(input: [n], output: [r]):
    if n > 5:
        n = @double(value=n)
    n = @echo(value=n)
    return [n]
`

var looping = []Workflow{
	{Name: "loop", Input: `{"n": 5}`, Want: `[0,2,4,6,8]`, Source: `
fn main(input: [n], output: [r]):
    r = []
    for i in range(n):
        x = @double(value=i)
        r = r + [x]
`},
	{Name: "loop over nothing", Input: `{}`, Want: `"none"`, Source: `
fn main(input: [], output: [r]):
    r = "none"
    for i in []:
        r = @echo(value=i)
`},
	{Name: "break and continue", Input: `{}`, Want: `[[0,0],[2,4]]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for i, x in enumerate([0, 1, 2, 3, 4]):
        if x == 1:
            continue
        if x == 3:
            break
        y = @double(value=x)
        r = r + [[i, y]]
`},
	{Name: "nested loops", Input: `{}`, Want: `[[0,10],[1,11],[10,20],[11,21]]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for i in range(2):
        for j in range(2):
            a = @add(a=i * 10, b=j)
            b = @add(a=a, b=10)
            r = r + [[a, b]]
        r = [x for x in r]
    return sorted(r)
`},
	{Name: "loop carries a value", Input: `{"n": 12}`, Want: `4096`, Source: `
fn main(input: [n], output: [x]):
    x = 1
    for i in range(n):
        x = @double(value=x)
`},
	{Name: "while", Input: `{"n": 3}`, Want: `[48,5]`, Source: `
fn main(input: [n], output: [r]):
    turns = 0
    while n < 40:
        n = @double(value=n)
        turns = turns + 1
        if turns > 100:
            break
    n = @echo(value=n)
    return [n, turns + 1]
`},
	{Name: "return from a loop", Input: `{}`, Want: `[3,6]`, Source: `
fn main(input: [], output: [r]):
    r = 0
    for i in range(1000000):
        r = @double(value=i)
        if i == 3:
            return [i, r]
`},
}

var spreading = []Workflow{
	{Name: "spread", Input: `{"n": 40}`, Want: "[" + join(40, func(i int) int { return 2 * i }) + "]", Source: `
fn main(input: [n], output: [r]):
    xs = @items(count=n)
    r = spread xs:x -> @double(value=x)
`},
	{Name: "spread and sum", Input: `{"n": 40}`, Want: `1560`, Source: `
fn main(input: [n], output: [r]):
    xs = @items(count=n)
    ys = spread xs:x -> @double(value=x)
    r = @sum(values=ys)
`},
	{Name: "spread of one", Input: `{}`, Want: `[2]`, Source: `
fn main(input: [], output: [r]):
    r = spread [1]:x -> @double(value=x)
`},
	{Name: "empty spread", Input: `{}`, Want: `[[],0]`, Source: `
fn main(input: [], output: [r]):
    xs = @items(count=0)
    r = spread xs:x -> @double(value=x)
    s = @sum(values=r)
    return r, s
`},
	{Name: "empty spread first", Input: `{}`, Want: `[]`, Source: `
fn main(input: [], output: [r]):
    r = spread []:x -> @double(value=x)
`},
	{Name: "spread after spread", Input: `{}`, Want: `[0,4,8]`, Source: `
fn main(input: [], output: [r]):
    xs = spread range(3):x -> @double(value=x)
    r = spread xs:x -> @double(value=x)
`},
	{Name: "spread in a loop", Input: `{}`, Want: `[[],[0],[0,2],[0,2,4]]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for n in range(4):
        xs = spread range(n):x -> @double(value=x)
        r = r + [xs]
`},
	{Name: "parallel", Input: `{"n": 4}`, Want: `[8,5,"x"]`, Source: `
fn main(input: [n], output: [a, b, c]):
    a, b, c = parallel:
        @double(value=n)
        @add(a=n, b=1)
        @echo(value="x")
`},
	{Name: "parallel in a loop", Input: `{}`, Want: `[[0,1],[2,2],[4,3]]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for i in range(3):
        pair = parallel:
            @double(value=i)
            @add(a=i, b=1)
        r = r + [pair]
`},
	{Name: "pipeline", Input: `{"fan_out": 12, "loop_iters": 3}`, Want: `[12,44,76]`, Source: `
fn main(input: [fan_out, loop_iters], output: [total]):
    items = @items(count=fan_out)
    processed = spread items:item -> @double(value=item)
    size = len(processed) // loop_iters
    results = []
    for chunk_id in range(loop_iters):
        chunk = processed[chunk_id * size:(chunk_id + 1) * size]
        valid = @echo(value=chunk_id >= 0)
        r = @sum(values=chunk if valid else [])
        results = results + [r]
    total = @echo(value=results)
    return total
`},
}

var calling = []Workflow{
	{Name: "call", Input: `{}`, Want: `[2,4,7]`, Source: `
fn twice(input: [x], output: [y]):
    y = @double(value=x)

fn main(input: [], output: [a, b, c]):
    a = twice(x=1)
    b = twice(x=a)
    c = @add(a=a + b, b=1)
`},
	{Name: "nested calls", Input: `{"n": 1}`, Want: `[8,1]`, Source: `
fn inner(input: [x], output: [x]):
    x = @double(value=x)

fn middle(input: [x], output: [y]):
    x = inner(x=x)
    y = inner(x=x)

fn main(input: [n], output: [r]):
    x = middle(x=n)
    x = inner(x=x)
    return x, n
`},
	{Name: "return from a loop in a call", Input: `{}`, Want: `["found 6","none"]`, Source: `
fn find(input: [limit], output: [r]):
    r = "none"
    for i in range(limit):
        x = @double(value=i)
        if x > 5:
            return "found " + str(x)

fn main(input: [], output: [a, b]):
    a = find(limit=10)
    b = find(limit=2)
`},
	{Name: "call in a loop", Input: `{}`, Want: `[["odd",0],["even",2],["odd",0],["even",6]]`, Source: `
fn parity(input: [x], output: [name, y]):
    y = 0
    if x % 2 == 1:
        return "odd", y
    name = @echo(value="even")
    y = @add(a=x, b=0)

fn main(input: [], output: [r]):
    r = []
    for i in [1, 2, 5, 6]:
        p = parity(x=i)
        r = r + [p]
`},
}

var failing = []Workflow{
	{Name: "action fails", Input: `{}`, Failure: "Declined", At: "3:5", Runs: map[string]int{"noop": 0}, Source: `
fn main(input: [], output: []):
    @fail(type="Declined", message="no")
    @noop()
`},
	{Name: "unknown action", Input: `{}`, Failure: "UnknownAction", Source: `
fn main(input: [], output: []):
    @no.such.action()
`},
	{Name: "expression fails at once", Input: `{"n": 0}`, Failure: "ExpressionError", Source: `
fn main(input: [n], output: [x]):
    x = 1 // n
`},
	{Name: "expression fails later", Input: `{"n": 0}`, Failure: "ExpressionError", Source: `
fn main(input: [n], output: [x]):
    x = @echo(value=n)
    x = 1 // x
`},
	{Name: "guard fails", Input: `{"n": "a"}`, Failure: "ExpressionError", Source: `
fn main(input: [n], output: [x]):
    x = @echo(value=n)
    if x > 1:
        x = 2
    else:
        x = 3
`},
	{Name: "element fails", Input: `{}`, Failure: "Bad", Source: `
fn main(input: [], output: [r]):
    r = parallel:
        @double(value=1)
        @fail(type="Bad", message="branch")
        @double(value=2)
`},
	{Name: "retry", Input: `{}`, Want: `4`, Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=3) [retry: 3]
`},
	{Name: "retry with backoff", Input: `{}`, Want: `[3,2]`, Source: `
fn main(input: [], output: [a, b]):
    a = @flaky(times=2) [Other -> retry: 0] [Flaky -> retry: 2, backoff: 5ms]
    b = @flaky(times=1) [retry: 1, backoff: 1ms]
`},
	{Name: "retries in a spread", Input: `{}`, Want: `[1,2,3,1]`, Source: `
fn main(input: [], output: [r]):
    r = spread [0, 1, 2, 0]:n -> @flaky(times=n) [retry: 2, backoff: 1ms]
`},
	{Name: "retries run out", Input: `{}`, Failure: "Flaky", Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=3) [retry: 2]
`},
	{Name: "retry of another error", Input: `{}`, Failure: "Flaky", Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=1) [Timeout -> retry: 5]
`},
}

// hard is a value that a careless store damages: the end of a string, line separators, surrogate pairs, keys unordered or empty,
// integers beyond 64 and 53 bits, floats that look like integers, and deep nesting.
var hard = `{"z":"nul \u0000 end","a":"ä € 𝄞   <&>","":[],"big":123456789012345678901234567890,` +
	`"odd":9007199254740993,"float":1.0,"tiny":5e-324,"third":0.1,"neg":-0.5,"deep":` +
	strings.Repeat("[", 60) + strings.Repeat("]", 60) + `,"null":null,"bools":[true,false],"quote":"\"\\\n\t"}`

var values = []Workflow{
	{Name: "hard values", Input: `{"v": ` + hard + `}`, Want: hard, Source: `
fn main(input: [v], output: [w]):
    w = @echo(value=v)
    return w
`},
	{Name: "integers stay integers", Input: `{"n": 123456789012345678901234567890}`, Want: `[246913578024691357802469135780,2,2.0]`, Source: `
fn main(input: [n], output: [a, b, c]):
    a = @double(value=n)
    b = @echo(value=2)
    c = @echo(value=4 / 2)
`},
	{Name: "large value by reference", Input: `{}`, Want: `[120000,[120000,120000,120000,120000]]`, Source: `
fn main(input: [], output: [r]):
    big = @echo(value="0123456789" * 12000)
    copies = spread range(4):i -> @echo(value=big)
    return len(big), [len(c) for c in copies]
`},
	{Name: "large value across retries", Input: `{}`, Want: `[3,true]`, Source: `
fn main(input: [], output: [r]):
    big = @echo(value="é" * 100000)
    n = @flaky(times=2, load=big) [retry: 2, backoff: 1ms]
    big = @echo(value=big)
    return n, big == "é" * 100000
`},
}

func join(n int, f func(int) int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strconv.Itoa(f(i))
	}
	return strings.Join(parts, ",")
}

func (w Workflow) run(r *rig) {
	p := w.Program(r)
	r.drive(w, p, 1, DriveConfig{Advance: r.Advance})
	r.drive(w, p, depth.Of(2, 8), DriveConfig{Advance: r.Advance, Workers: depth.Of(2, 3), Seed: 7, Max: 5})
}

// runTogether drives instances of all workflows concurrently, since transactions are expensive, and checks each workflow by
// itself.
func (r *rig) runTogether(all []Workflow) {
	r.Helper()
	var subs []backend.Submission
	ids := map[string][]uuid.UUID{}
	for _, w := range all {
		p := w.Program(r)
		for range 2 {
			s := submission(p, w.Input)
			subs, ids[w.Name] = append(subs, s), append(ids[w.Name], s.ID)
		}
	}
	rec, err := Drive(r.ctx, r.b, subs, DriveConfig{Workers: 3, Seed: 7, Max: 8})
	if err == nil {
		err = rec.Check()
	}
	if err != nil {
		r.Fatal(err)
	}
	for _, w := range all {
		r.Run(w.Name, func(t *testing.T) {
			for _, id := range ids[w.Name] {
				r.in(t).outcome(w, rec, id)
			}
		})
	}
	r.clean()
}

func (r *rig) drive(w Workflow, p *plan.Program, instances int, cfg DriveConfig) *Recording {
	r.Helper()
	subs := make([]backend.Submission, instances)
	for i := range subs {
		subs[i] = submission(p, w.Input)
	}
	rec, err := Drive(r.ctx, r.b, subs, cfg)
	if err != nil {
		r.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		r.Fatal(err)
	}
	for _, id := range sortedIDs(rec.Programs) {
		r.outcome(w, rec, id)
	}
	r.clean()
	return rec
}

func (r *rig) outcome(w Workflow, rec *Recording, id uuid.UUID) {
	r.Helper()
	if err := w.Expect(rec.Instances[id]); err != nil {
		r.Error(err)
	}
	runs := rec.Runs(id)
	for node, want := range w.Runs {
		if !slices.ContainsFunc(rec.Programs[id].Graph().Nodes, func(n *graph.Node) bool { return n.Name == node }) {
			r.Fatalf("the graph has no node %s", node)
		}
		if runs[node] != want {
			r.Errorf("node %s had %d runs; want %d (there were %v)", node, runs[node], want, runs)
		}
	}
}
