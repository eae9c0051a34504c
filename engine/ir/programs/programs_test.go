package programs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/ir/programs"
	"pulley/internal/depth"
)

func compiled(t interface {
	Helper()
	Fatalf(string, ...any)
}, p programs.Program) {
	t.Helper()
	prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
	if err != nil {
		t.Fatalf("%v\n%#v", err, p)
	}
	if _, err := graph.Compile(prog, ir.Limits{}); err != nil {
		t.Fatalf("%v\n%#v", err, p)
	}
}

// The programs of a soak must contain every construct, and every construct within every other. Before each change the test
// stops as soon as it has seen all, with a seed for which that is soon.
func TestTheWholeLanguage(t *testing.T) {
	const first, most = 5_001, 2_000
	want := slices.Clone(programs.Constructs)
	for _, in := range programs.Containers {
		for _, what := range programs.Contained {
			want = append(want, in+" > "+what)
		}
		if slices.Contains([]string{"if", "for", "while", "try", "except"}, in) {
			for _, what := range programs.Leaving {
				want = append(want, in+" > "+what)
			}
		}
	}
	total := programs.Count{}
	missing := slices.Clone(want)
	all := programs.Generator(programs.Options{})
	for seed := first; seed < first+most && (len(missing) > 0 || depth.Night()); seed++ {
		p := all.Example(seed)
		prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
		if err != nil {
			t.Fatalf("%v\n%#v", err, p)
		}
		for what, n := range programs.Census(prog) {
			total[what] += n
		}
		missing = slices.DeleteFunc(missing, func(what string) bool { return total[what] > 0 })
	}
	if len(missing) > 0 {
		t.Errorf("%d programs have no %s", most, strings.Join(missing, ", no "))
	}
	if testing.Verbose() {
		slices.SortFunc(want, func(a, b string) int { return total[a] - total[b] })
		for _, what := range want {
			t.Logf("%6d %s", total[what], what)
		}
	}
}

// Every draw, also by a shrinker, must parse and compile, and equal draws must give equal programs.
func TestEveryProgramIsValid(t *testing.T) {
	depth.Checks(t, 50, 2000)
	for _, opts := range []programs.Options{{}, {Tame: true}, {Python: true}} {
		all := programs.Generator(opts)
		rapid.Check(t, func(t *rapid.T) { compiled(t, all.Draw(t, "program")) })
	}
	all := programs.Generator(programs.Options{})
	for seed := range depth.Of(20, 200) {
		if a, b := all.Example(seed), all.Example(seed); a.Source != b.Source || string(a.Input) != string(b.Input) {
			t.Fatalf("seed %d gives %#v\nand then %#v", seed, a, b)
		}
	}
}

// Every program with Options.Python must be printed, and these programs must use all that Python allows.
func TestPython(t *testing.T) {
	total := programs.Count{}
	all := programs.Generator(programs.Options{Python: true})
	const most = 300
	for seed := 1; seed <= most; seed++ {
		p := all.Example(seed)
		text, err := programs.Python(p)
		if err != nil {
			t.Fatalf("seed %d: %v\n%#v", seed, err, p)
		}
		if !strings.Contains(text, "async def run(self") {
			t.Fatalf("seed %d has no run:\n%s", seed, text)
		}
		prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for what, n := range programs.Census(prog) {
			total[what] += n
		}
	}
	for _, what := range programs.Constructs {
		if total[what] == 0 {
			t.Errorf("%d programs have no %s", most, what)
		}
	}
}

func TestUnprintable(t *testing.T) {
	for _, c := range [][2]string{
		{`s = "é"[:1]`, "a text that is not ASCII"},
		{`s = "x".upper()`, "the method upper"},
		{`a = int("1")`, "the function int"},
		{`a = max(enumerate([1]))`, "a list that has tuples in Python"},
		{`a, b = range(2)`, "unpacking what may have another length"},
		{"sleep -1", "a sleep that fails"},
		{`s = "x" * 200000`, "a value that is over a limit"},
		{"@trains()", "the action trains"},
		{"@noop() [retry: 1]\n    @noop()", "calls of one action with different policies"},
		{"@noop() [Boom -> retry: 1] [retry: 2]", "several policies of one call"},
		{"try:\n        a = [1][2]\n    except:\n        pass", "an expression that may fail where errors are caught"},
		{"try:\n        a = 1 // a\n    except:\n        pass", "an expression that may fail where errors are caught"},
		{"try:\n        a = f()\n    except:\n        pass", "an expression that may fail where errors are caught"},
		{"try:\n        pass\n    except as e:\n        v = e", "an error as a value"},
		{"try:\n        pass\n    except as v:\n        pass", "an error as a value"},
		{"try:\n        pass\n    except as e:\n        s = e[\"action\"]", "the action of an error"},
		{"v = isexception(v)", "isexception of what may be no error"},
	} {
		source := "fn f(input: [], output: [a]):\n    a = [1][2]\n\nfn main(input: [a, v], output: []):\n    " + c[0] + "\n"
		text, err := programs.Python(programs.Program{Source: source, Input: []byte(`{"a": 1, "v": 1}`)})
		var unprintable *programs.Unprintable
		if !errors.As(err, &unprintable) || !strings.HasPrefix(unprintable.Construct, c[1]) {
			t.Errorf("%s\n%v, want %s\n%s", c[0], err, c[1], text)
		}
	}
}

func TestPythonText(t *testing.T) {
	const source = `fn f0(input: [a], output: [ns]):
    ns = range(a)

fn main(input: [a, v], output: [a, ns]):
    try:
        a = (a + 1)
        ns, v = parallel:
            f0(a=2)
            @flaky(times=3) [Flaky -> retry: 2, backoff: 1ms]
    except Boom, Flaky as e:
        v = (e["message"] if (isexception(e, "Flaky") and v != None) else "x")
        return v, reversed(["x"])
    for s, b in {"x": 1}.items():
        xs = spread range(3):b limit 2 -> @sum(values=[b]) [timeout: 1h]
`
	const want = `import asyncio
import json
from typing import Any, Dict, List

import language
from language import Boom, Flaky, Other
from pulley import Workflow, action, workflow

INPUTS = [json.loads("{\"a\": 1, \"v\": \"\u00e9\"}")]


@action(name="flaky", retry=2, backoff="1ms", retry_on=("Flaky", ))
async def flaky(times: int) -> Any:
    return language.attempts("flaky", 2, ("Flaky", ), times=times)


@action(name="sum", timeout="3600000ms")
async def total(values: List[int]) -> int:
    return language.attempts("sum", 0, (), values=values)


@workflow
class Printed(Workflow):
    async def f0(self, a: int) -> List[int]:
        ns: List[int] = list(range(a))
        return ns

    async def run(self, a: int, v: Any) -> Any:
        try:
            a += 1
            part0, part1 = await asyncio.gather(self.f0(a=2), flaky(times=3))
            ns: List[int] = part0
            v: Any = part1
        except (Boom, Flaky) as error:
            e_type = type(error).__name__
            e_message = str(error)
            v: Any = e_message if (e_type == "Flaky") and v is not None else "x"
            return [v, list(reversed(["x"]))]
        for s, b in {"x": 1}.items():
            xs: List[Any] = await asyncio.gather(*[total(values=[b]) for b in range(3)])
        return [a, ns]
`
	got, err := programs.Python(programs.Program{Source: source, Input: []byte(`{"a": 1, "v": "é"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
