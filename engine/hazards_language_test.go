package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/depth"
)

type fate struct {
	name    string
	source  string
	limits  ir.Limits
	result  string
	failure string   // otherwise: "Type line:col", or a part of that
	marks   []string // the arguments of @mark(value=...), in order
}

func (f fate) text() string {
	if strings.HasPrefix(f.source, "fn ") {
		return f.source
	}
	return "fn main(input: [x], output: [y]):\n" + f.source
}

func checkFates(t *testing.T, fates []fate) {
	t.Helper()
	onEveryDesign(t, func(s *site) { s.checkFates(fates) })
}

func (s *site) checkFates(fates []fate) {
	s.Helper()
	seen := &marks{}
	e := s.host(s.open(), engine.Config{Workers: s.actions(seen)})
	for _, f := range fates {
		inst := s.ends(e, program(s.T, f.text(), f.limits), `{"x": 0}`)
		if got := seen.take(); strings.Join(got, " ") != strings.Join(f.marks, " ") {
			s.Errorf("%s: called @mark with %q, want %q", f.name, got, f.marks)
		}
		if got, ok := f.met(inst); !ok {
			s.Errorf("%s: %s; want %s%s", f.name, got, f.result, f.failure)
		}
	}
}

func (f fate) met(inst backend.Instance) (how string, ok bool) {
	if failed := inst.Failure; failed != nil {
		how = fmt.Sprintf("%s %d:%d", failed.Type, failed.Pos.Line, failed.Pos.Col)
		return how + " (" + failed.Message + ")", f.failure != "" && strings.Contains(how, f.failure) && failed.Action == ""
	}
	return string(inst.Result), f.failure == "" && string(inst.Result) == f.result
}

// A failing expression stands wherever one can, at the start of an instance and after an action. The instance must fail there,
// and nothing may see a null.
func TestHazardFailedInlineExpressionBecomesNull(t *testing.T) {
	places := map[string]string{
		"in an assignment":           "    y = 1 // x\n",
		"in an argument":             "    y = @echo(value=1 // x)\n",
		"in a call":                  "    y = f(z=1 // x)\n",
		"in a called function":       "    y = g(z=x)\n",
		"in what a for goes over":    "    for z in [1 // x]:\n        y = z\n",
		"in a range":                 "    for z in range(1 // x):\n        y = z\n",
		"in what a spread goes over": "    y = spread [1 // x]:z -> @echo(value=z)\n",
		"in a spread's argument":     "    y = spread [1]:z -> @echo(value=z // x)\n",
		"in a spread's call":         "    y = spread [1]:z -> g(z=x)\n",
		"in a parallel's argument":   "    y = parallel:\n        @echo(value=1 // x)\n        @noop()\n",
		"in a parallel's call":       "    y = parallel:\n        g(z=x)\n        @noop()\n",
		"in a return":                "    return 1 // x\n",
		"in a sleep":                 "    sleep 1 // x\n",
		"in a loop's round":          "    for z in range(3):\n        y = @echo(value=z)\n        y = 1 // (x * z)\n",
		"in a try":                   "    try:\n        y = 1 // x\n    except:\n        @mark(value='handled')\n",
		"in a handler":               "    try:\n        @fail(type='A', message='')\n    except:\n        y = 1 // x\n",
		"a missing key":              "    y = {}['none']\n",
		"an index out of range":      "    y = [1][x + 1]\n",
		"a list that does not fit":   "    y, z = [x]\n",
		"a name without value":       "    y = [unset]\n    unset = 1\n",
		"kinds that do not add":      "    y = 'text' + x\n",
	}
	const functions = "fn f(input: [z], output: [z]):\n    pass\n\nfn g(input: [z], output: [a]):\n    a = 1 // z\n\n"
	var fates []fate
	for _, name := range slices.Sorted(maps.Keys(places)) {
		for when, first := range map[string]string{"at the beginning": "", "behind an action": "    x = @echo(value=x)\n"} {
			source := functions + "fn main(input: [x], output: [y]):\n    y = None\n    unset = 0\n" + first + places[name] + "    @mark(value='after')\n"
			if name == "a name without value" {
				source = strings.Replace(source, "    unset = 0\n", "", 1)
			}
			fates = append(fates, fate{name: name + ", " + when, source: source, failure: "ExpressionError"})
		}
	}
	checkFates(t, fates)
}

// A failing guard must make the instance fail at that position, and no branch may be taken.
func TestHazardGuardErrorSwallowsElse(t *testing.T) {
	const ways = "        y = @mark(value='case')\n    else:\n        y = @mark(value='else')\n    @mark(value='after')\n"
	checkFates(t, []fate{
		{name: "if", source: "    if 1 // x > 0:\n" + ways, failure: "ExpressionError 2:8"},
		{name: "if behind an action", source: "    x = @echo(value=x)\n    if 1 // x > 0:\n" + ways, failure: "ExpressionError 3:8"},
		{name: "if without else", source: "    x = @echo(value=x)\n    if 1 // x > 0:\n        y = @mark(value='case')\n    @mark(value='after')\n", failure: "ExpressionError 3:8"},
		{name: "elif", source: "    if x > 0:\n        pass\n    elif 1 // x > 0:\n" + ways, failure: "ExpressionError 4:10"},
		{name: "elif behind an action", source: "    x = @echo(value=x)\n    if x > 0:\n        pass\n    elif {}['none']:\n" + ways, failure: "ExpressionError 5:10"},
		{name: "elif that is not looked at", source: "    if x == 0:\n        y = @mark(value='case')\n    elif 1 // x > 0:\n        y = 2\n", result: `"case"`, marks: []string{"case"}},
		{name: "while", source: "    while 1 // x > 0:\n        @mark(value='round')\n    y = @mark(value='after')\n", failure: "ExpressionError 2:11"},
		{name: "while's second round", source: "    z = 1\n    while 1 // z > 0:\n        @mark(value='round')\n        z = x\n    y = @mark(value='after')\n", failure: "ExpressionError 3:11", marks: []string{"round"}},
		{name: "in a loop", source: "    for z in range(2):\n        y = @echo(value=z)\n        if 1 // z > 0:\n            @mark(value='case')\n        else:\n            @mark(value='else')\n", failure: "ExpressionError 4:12"},
		{name: "in a try", source: "    try:\n        x = @echo(value=x)\n        if 1 // x > 0:\n            y = @mark(value='case')\n        else:\n            @mark(value='else')\n    except:\n        @mark(value='handled')\n", failure: "ExpressionError 4:12"},
		{name: "in a spread's function", source: "fn f(input: [z], output: [z]):\n    if 1 // z > 0:\n        @mark(value='case')\n    else:\n        @mark(value='else')\n\n" +
			"fn main(input: [x], output: [y]):\n    y = spread [x, x]:z -> f(z=z)\n    @mark(value='after')\n", failure: "ExpressionError 2:8"},
	})
}

// Longer loops must run completely. A loop over the limit is an error, not the end of the loop.
func TestHazardLoopsCutAtTenThousandIterations(t *testing.T) {
	few := ir.Limits{LoopIterations: 20}
	const sparse = "    y = 0\n    for i in range(10001):\n        if i % 1000 == 0:\n            @mark(value='1000')\n        y = y + 1\n"
	const sparseWhile = "    y = 0\n    while y < 10001:\n        if y % 1000 == 0:\n            @mark(value='1000')\n        y = y + 1\n"
	thousands := strings.Fields(strings.Repeat("1000 ", 11))
	// Rounds without actions cost least: the core takes all of them at once.
	many := ir.Limits{InlineSteps: 100_000}
	fates := []fate{
		{name: "for", limits: many, source: "    y = 0\n    for i in range(10001):\n        y = y + 1\n", result: "10001"},
		{name: "as many rounds as the limit", limits: few, source: "    y = 0\n    for i in range(20):\n        y = @add(a=y, b=1)\n", result: "20"},
		{name: "for over the limit", limits: few, source: "    y = 0\n    for i in range(21):\n        y = @add(a=y, b=1)\n    @mark(value='after')\n", failure: "LimitExceeded 3:5"},
		{name: "inline for over the limit", limits: few, source: "    y = 0\n    for i in range(21):\n        y = y + 1\n    @mark(value='after')\n", failure: "LimitExceeded 3:5"},
		{name: "while over the limit", limits: few, source: "    y = 0\n    while True:\n        y = @add(a=y, b=1)\n    @mark(value='after')\n", failure: "LimitExceeded 3:5"},
		{name: "in a try", limits: few, source: "    y = 0\n    try:\n        while True:\n            y = @add(a=y, b=1)\n    except:\n        @mark(value='handled')\n", failure: "LimitExceeded 4:9"},
		{name: "rounds without an action over the limit of a completion", limits: ir.Limits{InlineSteps: 50},
			source: "    x = @echo(value=x)\n    y = 0\n    for i in range(1000):\n        y = y + 1\n    @mark(value='after')\n", failure: "LimitExceeded"},
	}
	while := fate{name: "while", limits: many, source: "    y = 0\n    while y < 10001:\n        y = y + 1\n", result: "10001"}
	if depth.Night() {
		fates = append(fates, while,
			fate{name: "for, in stretches", source: sparse, result: "10001", marks: thousands},
			fate{name: "while, in stretches", source: sparseWhile, result: "10001", marks: thousands})
	}
	checkFates(t, fates)
	t.Run("in memory", func(t *testing.T) { // other designs take long for so many actions
		s := newSite(t, memoryDesign(t))
		s.checkFates([]fate{while})
		e := s.host(s.open(), engine.Config{})
		p := program(s.T, "fn main(input: [], output: [y]):\n    y = 0\n    for i in range(10001):\n        y = @add(a=y, b=1)\n", ir.Limits{})
		if inst := s.ends(e, p, `{}`); string(inst.Result) != "10001" {
			s.Errorf("10001 rounds of an action gave %s (%v)", inst.Result, inst.Failure)
		}
	})
}

// What follows a spread over nothing must run, wherever a spread can stand.
func TestHazardEmptySpreadNeverWakesItsAggregate(t *testing.T) {
	const after = "    @mark(value='after')\n"
	const f = "fn f(input: [z], output: [z]):\n    z = @double(value=z)\n\n"
	const g = f + "fn g(input: [n], output: [zs]):\n    zs = spread range(n):z -> f(z=z)\n\n"
	const main = "fn main(input: [x], output: [y]):\n"
	marked := []string{"after"}
	checkFates(t, []fate{
		{name: "first of all", source: "    y = spread []:z -> @double(value=z)\n" + after, result: "[]", marks: marked},
		{name: "behind an action", source: "    zs = @items(count=x)\n    y = spread zs:z -> @double(value=z)\n" + after, result: "[]", marks: marked},
		{name: "last of all", source: "    y = spread range(x):z -> @double(value=z)\n", result: "[]"},
		{name: "nothing else", source: "    y = 1\n    spread range(x):z -> @double(value=z)\n", result: "1"},
		{name: "one behind the other", source: "    y = spread range(x):z -> @double(value=z)\n    y = spread y:z -> @double(value=z)\n" + after, result: "[]", marks: marked},
		{name: "limited", source: "    y = spread range(x):z limit 2 -> @double(value=z)\n" + after, result: "[]", marks: marked},
		{name: "a dict", source: "    y = spread {}:z -> @echo(value=z)\n" + after, result: "[]", marks: marked},
		{name: "over a function", source: f + main + "    y = spread range(x):z -> f(z=z)\n" + after, result: "[]", marks: marked},
		{name: "limited over a function", source: f + main + "    y = spread range(x):z limit 1 -> f(z=z)\n" + after, result: "[]", marks: marked},
		{name: "in a spread", source: g + main + "    y = spread [0, 1, 0]:n -> g(n=n)\n" + after, result: "[[],[0],[]]", marks: marked},
		{name: "in a limited spread", source: g + main + "    y = spread [0, 0, 0]:n limit 1 -> g(n=n)\n" + after, result: "[[],[],[]]", marks: marked},
		{name: "in a parallel", source: g + main + "    y = parallel:\n        g(n=x)\n        g(n=x)\n        @echo(value=x)\n" + after, result: "[[],[],0]", marks: marked},
		{name: "in a loop", source: "    y = []\n    for n in [0, 2, 0, 0]:\n        zs = spread range(n):z -> @double(value=z)\n        y = y + [zs]\n" + after, result: "[[],[0,2],[],[]]", marks: marked},
		{name: "in a loop of nothing else", source: "    for n in range(3):\n        y = spread range(x):z -> @double(value=z)\n" + after, result: "[]", marks: marked},
		{name: "in a branch", source: "    if x == 0:\n        y = spread range(x):z -> @double(value=z)\n" + after, result: "[]", marks: marked},
		{name: "in a try", source: "    try:\n        y = spread range(x):z -> @double(value=z)\n    except:\n        y = 1\n" + after, result: "[]", marks: marked},
		{name: "in a handler", source: "    try:\n        @fail(type='A', message='')\n    except:\n        y = spread range(x):z -> @double(value=z)\n" + after, result: "[]", marks: marked},
	})
}

func TestHazardIfWithoutElseStops(t *testing.T) {
	const never = "if x > 0:\n        y = @mark(value='never')\n"
	const after = "    @mark(value='after')\n"
	marked := []string{"after"}
	checkFates(t, []fate{
		{name: "first of all", source: "    " + never + "    y = 1\n" + after, result: "1", marks: marked},
		{name: "behind an action", source: "    y = @echo(value=1)\n    " + never + after, result: "1", marks: marked},
		{name: "last of all", source: "    y = @echo(value=1)\n    " + never, result: "1"},
		{name: "nothing else", source: "fn main(input: [x], output: []):\n    " + never, result: "null"},
		{name: "elif", source: "    y = 1\n    if x > 0:\n        pass\n    elif x < 0:\n        y = @mark(value='never')\n" + after, result: "1", marks: marked},
		{name: "without an action", source: "    y = 1\n    if x > 0:\n        y = 2\n" + after, result: "1", marks: marked},
		{name: "two in a row", source: "    y = 1\n    " + never + "    " + never + after, result: "1", marks: marked},
		{name: "in a case that is taken", source: "    y = 1\n    if x == 0:\n        if x > 0:\n            y = @mark(value='never')\n" + after, result: "1", marks: marked},
		{name: "last in a loop", source: "    y = 0\n    for i in range(3):\n        y = @add(a=y, b=i)\n        if x > 0:\n            @mark(value='never')\n" + after, result: "3", marks: marked},
		{name: "all of a loop", source: "    y = 0\n    for i in range(3):\n        if i == 1:\n            y = @mark(value='once')\n" + after, result: `"once"`, marks: []string{"once", "after"}},
		{name: "all of a while", source: "    y = 0\n    while y < 3:\n        y = y + 1\n        if y == 2:\n            @mark(value='once')\n" + after, result: "3", marks: []string{"once", "after"}},
		{name: "in a try", source: "    y = 1\n    try:\n        if x > 0:\n            y = @mark(value='never')\n    except:\n        y = 2\n" + after, result: "1", marks: marked},
		{name: "in a handler", source: "    y = 1\n    try:\n        @fail(type='A', message='')\n    except:\n        if x > 0:\n            y = @mark(value='never')\n" + after, result: "1", marks: marked},
		{name: "in a function", source: "fn f(input: [x], output: [y]):\n    y = 1\n    " + never + "\nfn main(input: [x], output: [y]):\n    y = f(x=x)\n" + after, result: "1", marks: marked},
		{name: "in a spread's function", source: "fn f(input: [x], output: [y]):\n    y = 1\n    " + never + "\nfn main(input: [x], output: [y]):\n    y = spread [x, x]:z -> f(x=z)\n" + after, result: "[1,1]", marks: marked},
		{name: "in a parallel's function", source: "fn f(input: [x], output: [y]):\n    y = 1\n    " + never + "\nfn main(input: [x], output: [y]):\n    y = parallel:\n        f(x=x)\n        f(x=x)\n" + after, result: "[1,1]", marks: marked},
	})
}

// Such a return ends the function: no handler, no further round and nothing after it may run.
func TestHazardReturnInsideALoopInsideATry(t *testing.T) {
	const handler = "    except:\n        @mark(value='handled')\n    y = @mark(value='after')\n"
	const main = "\nfn main(input: [x], output: [y]):\n"
	loop := func(inside string) string {
		return "    try:\n        for i in range(3):\n            @mark(value=str(i))\n            if i == 1:\n" + inside + "            @mark(value='rest')\n" + handler
	}
	body := loop("                return i + x\n")
	first := []string{"0", "rest", "1"}
	checkFates(t, []fate{
		{name: "in main", source: body, result: "1", marks: first},
		{name: "without an action before it", source: "    try:\n        while True:\n            return 7\n" + handler, result: "7"},
		{name: "of no value", source: loop("                return\n"), result: "null", marks: first},
		{name: "of several", source: loop("                return i, x\n"), result: "[1,0]", marks: first},
		{name: "in a called function", source: "fn f(input: [x], output: [y]):\n" + body + main + "    z = f(x=5)\n    y = @mark(value='next')\n    y = z\n", result: "6", marks: append(first, "next")},
		{name: "in a function called in a loop in a try", source: "fn f(input: [x], output: [y]):\n" + body + main +
			"    y = []\n    try:\n        for j in range(2):\n            z = f(x=j * 10)\n            y = y + [z]\n    except:\n        @mark(value='handled')\n",
			result: "[1,11]", marks: append(first, first...)},
		{name: "in a spread's function", source: "fn f(input: [x], output: [y]):\n" + body + main + "    y = spread [x]:z -> f(x=z)\n    @mark(value='next')\n", result: "[1]", marks: append(first, "next")},
		{name: "in a parallel's function", source: "fn f(input: [x], output: [y]):\n" + body + main + "    y = parallel:\n        f(x=x)\n        @echo(value=2)\n    @mark(value='next')\n", result: "[1,2]", marks: append(first, "next")},
		{name: "from a try in the loop", source: loop("                try:\n                    @mark(value='inner')\n                    return i\n                except:\n                    @mark(value='inner handled')\n"),
			result: "1", marks: append(first, "inner")},
		{name: "from a handler in the loop", source: loop("                try:\n                    @fail(type='A', message='')\n                except A:\n                    return i\n"),
			result: "1", marks: first},
		{name: "from an inner loop", source: loop("                for j in range(5):\n                    if j == 2:\n                        return j * 10\n"), result: "20", marks: first},
	})
}

// A node that waits for a case that may not be taken would silently never run, so the builder must refuse it. With a soft group
// it must run.
func TestHazardHardEdgeFromABranchCaseNotTaken(t *testing.T) {
	build := func(hard bool) (*graph.Graph, error) {
		b := graph.New("merge", "x")
		argument := graph.Arg{Name: "value", Value: graph.X("x")}
		up, down := b.Action("up", "echo", argument), b.Action("down", "echo", argument)
		b.Branch("choose").Case("x > 0", up).Else(down)
		merge := b.Action("merge", "mark", graph.Arg{Name: "value", Value: graph.X(`"merged"`)})
		if hard {
			merge.After(up, down)
		} else {
			merge.AfterAny(up, down)
		}
		b.Output("merge").After(merge)
		return b.Build()
	}
	_, err := build(true)
	if err == nil {
		t.Fatal("a merge that can never fire is built")
	}
	for _, part := range []string{"merge", "choose", "AfterAny"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal does not speak of %s: %v", part, err)
		}
	}
	soft, err := build(false)
	if err != nil {
		t.Fatal(err)
	}
	onEveryDesign(t, func(s *site) {
		seen := &marks{}
		e := s.host(s.open(), engine.Config{Workers: s.actions(seen)})
		for _, x := range []string{`{"x": 0}`, `{"x": 1}`} {
			if inst := s.ends(e, built(s.T, soft), x); string(inst.Result) != `"merged"` {
				s.Errorf("%s: %s (%v)", x, inst.Result, inst.Failure)
			}
			s.wantMarks(seen, "merged")
		}
	})
}
