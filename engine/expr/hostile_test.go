package expr_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/internal/depth"
)

// hostile expressions need more than is allowed, with the values of hostileEnv; tree and twig share their parts 60 deep.
var hostile = []string{
	`"x" * 1000000000`, `1000000000000 * "x"`, `[0] * 10000000000`, `2147483647 * [0]`, `xs * n`, `s * 9223372036854775807`, `s * big`, `s + t + s`,
	`list(range(10000000000))`, `range(10000000)`, `len(range(1000000000))`, `sum(range(10000000))`, `enumerate(range(10000000))`, `zip(range(10000000), range(10000000))`,
	`sorted(range(10000000))`, `reversed(range(10000000))`, `[big * big * big for i in range(n)]`, `[big * big // big for i in range(n)]`, `int(s)`, `int("9" * 90000)`, `[str(big * big) for i in range(n)]`,
	`s.replace("", t)`, `s.replace("a", "bbb")`, `s.join(xs_text)`, `t.join(d100)`, `s.format() + s.format() + s`, `"{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}".format(s)`, `"%s%s%s" % [s, s, s]`, `"%(a)s%(a)s%(a)s" % {"a": s}`,
	`("{0}" * 1000).format(s)`, `("%(a)s" * 100) % {"a": s}`, `("{}" * 300000).format(1)`, `"%r" % tree`, `"%s" % twig`, `"{}".format(tree)`, `"{!r}".format(tree)`, `str(tree)`, `str(twig)`, `s.strip(t)`, `s.lstrip(umlauts)`,
	`"é".join(xs_text * 11)`, `[tree]`, `[twig]`, `{"a": tree}`, `tree == tree2`, `tree < tree2`, `tree in [tree2]`, `min(tree, tree2)`, `sorted([tree, tree2])`, `{"a": twig} == {"a": twig2}`,
	`[c + c for c in [b + b for b in [a + a for a in [s]]]]`, `[c * 1000 for c in [b * 1000 for b in [a * 1000 for a in ["xy"]]]]`,
	`[` + strings.Repeat(`[v, v] for v in [`, 40) + `0` + strings.Repeat(`]`, 40) + `]`,
	`[v * v for v in [v * v for v in [v * v for v in [v * v for v in [big]]]]]`,
	`[xs[:] for i in range(n)]`, `[xs[::2] for i in range(n)]`, `[xs + [i] for i in range(n)]`, `[s + "x" for i in range(n)]`, `[s[1:] + "x" for i in range(n)]`, `[big + i for i in range(n)]`, `[-big for i in range(n)]`, `[big // 3 for i in range(n)]`, `[big % big2 for i in range(n)]`,
	`[big - 1 for i in range(n)]`, `[big / big2 for i in range(n)]`, `[str(xs) for i in range(n)]`, `[list(xs) for i in range(n)]`, `[sorted(xs) for i in range(n)]`, `[xs.index(1) for i in range(n)]`, `[reversed(xs) for i in range(n)]`,
	`[max(xs) for i in range(n)]`, `[sum(xs) for i in range(n)]`, `[any(zeros) for i in range(n)]`, `[all(ones) for i in range(n)]`, `[n in xs for i in range(n)]`, `[xs == xs2 for i in range(n)]`, `[s == s2 for i in range(n)]`, `[s < s2 for i in range(n)]`,
	`[t in s for i in range(n)]`, `[d.items() for i in xs]`, `[d100.keys() for i in range(n)]`, `[dict(d100) for i in range(n)]`, `[d100 == d101 for i in xs]`, `[{} for i in xs]`, `[{"a": i} for i in xs]`, `[{k: 1 for k in d100} for i in range(n)]`,
	`[{s: 1} for i in xs]`, `[d.get(s) for i in xs]`, `[s in d for i in xs]`, `[s.split("a") for i in range(n)]`, `[s.upper() for i in range(n)]`, `[s.elems() for i in range(n)]`, `[s.count("a") for i in range(n)]`, `[s.startswith(xs_text) for i in range(n)]`,
	`[s.find(t) for i in range(n)]`, `[s.codepoints() for i in range(n)]`, `[s.splitlines() for i in range(n)]`, `["%s" % s for i in range(n)]`, `["".join(xs_text) for i in range(n)]`, `[big == big2 for i in range(n)]`, `[big < big2 for i in range(n)]`, `[big < 1.5 for i in xs]`,
	`[[] for a in xs for b in xs]`, `[0 for a in xs for b in xs if False]`, `[sorted(d100, key=len) for i in range(n)]`, `[max(xs_text, key=str) for i in range(n)]`, `[zip(xs, xs, xs) for i in range(n)]`, `[enumerate(xs) for i in range(n)]`, `[float(s) for i in range(n)]`, `[enumerate(xs, big) for i in [1]]`,
	`sorted([s + "b", s + "a"] * 1000)`, `[s.rsplit(None, 2147483647) for i in range(n)]`, `[xs[i] + xs_text[i] for i in xs]`, `[[i, i] for i in xs for j in xs]`, `{str(i): [i] * n for i in xs}`,
}

// hostileEnv has lists of size elements, an int of as many digits, and text of half as many bytes as a value of 10 * size may
// have.
func hostileEnv(t testing.TB, size int) map[string]expr.Value {
	t.Helper()
	vars := map[string]expr.Value{}
	for name, text := range map[string]string{
		"s": `"a" * 5 * size`, "s2": `"a" * 5 * size`, "t": `"a" * (5 * size - 1) + "b"`, "umlauts": `"ä" * 2 * size`, "n": `1000`, "xs": `range(size)`, "xs2": `range(size)`,
		"zeros": `[0] * size`, "ones": `[1] * size`, "xs_text": `["a"] * size`, "d": `{"a": 1}`, "d100": `{str(i): i for i in range(100)}`, "d101": `{str(i): i for i in range(100)}`,
	} {
		v, err := eval(mustCompile(t, text), map[string]expr.Value{"size": starlark.MakeInt(size)})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		vars[name] = v
	}
	vars["big"] = mustDecode(t, strings.Repeat("7", size))
	vars["big2"] = mustDecode(t, strings.Repeat("7", size))
	// A value with shared parts is too large for a Value, but an expression can make it on its way.
	for name, leaf := range map[string]starlark.Value{"tree": starlark.MakeInt(1), "tree2": starlark.MakeInt(1), "twig": starlark.String("t"), "twig2": starlark.String("t")} {
		v := leaf
		for range 60 {
			v = starlark.NewList([]starlark.Value{v, v})
		}
		v.Freeze()
		vars[name] = v
	}
	return vars
}

// Each expression must be refused, within the memory of its budget of steps, at 64 bytes a step and as much for garbage, and
// some values more. The limits and values are a tenth of the defaults at night, and smaller before each change.
func TestHostile(t *testing.T) {
	var (
		size         = depth.Of(4_000, 10_000)
		steps        = 5 * size
		allocatedMax = uint64(32<<20 + 2*64*steps)
	)
	lim := ir.Limits{ExpressionSteps: steps, ValueBytes: 10 * size}
	vars := hostileEnv(t, size)
	for _, text := range hostile {
		c, err := expr.Compile(&ir.Expr{Pos: where, Text: text}, lim)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := eval(c, vars)
		runtime.ReadMemStats(&after)
		shown := text[:min(len(text), 60)]
		var failed *expr.EvalError
		if !errors.As(err, &failed) {
			t.Errorf("%s is not refused: a %T", shown, v)
			continue
		}
		if failed.Pos != where || strings.Contains(failed.Msg, "\n") {
			t.Errorf("%s: %v", shown, failed)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > allocatedMax {
			t.Errorf("%s takes %d MiB", shown, used>>20)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	for _, c := range []struct {
		text string
		lim  ir.Limits
		want string
	}{
		{`[i for i in range(1000)]`, ir.Limits{ExpressionSteps: 100}, `steps of one expression: …`},
		{`[i for i in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]`, ir.Limits{ExpressionSteps: 20}, `steps of one expression: 21 is over the limit of 20; make it smaller or raise the limit`},
		{`range(100)`, ir.Limits{ExpressionSteps: 20}, `steps of one expression: …`},
		{`range(100)`, ir.Limits{ValueBytes: 99}, `elements of a list: 100 is over the limit of 99; make it smaller or raise the limit`},
		{`range(100)`, ir.Limits{ValueBytes: 200}, `bytes of a value: …`},
		{`"a" * 100`, ir.Limits{ValueBytes: 99}, `bytes of a string: 100 is over the limit of 99; make it smaller or raise the limit`},
		{`"a" * 98`, ir.Limits{ValueBytes: 99}, `bytes of a value: 100 is over the limit of 99; make it smaller or raise the limit`},
		{`"%s%s" % ["a" * 60, "b" * 60]`, ir.Limits{ValueBytes: 99}, `bytes of a string: 120 is over the limit of 99; …`},
		{`("{0}" * 30).format("a" * 90)`, ir.Limits{ValueBytes: 99}, `bytes of formatted text: …`},
		{`str([["a" * 90] * 90])`, ir.Limits{ValueBytes: 99}, `bytes of formatted text: …`},
	} {
		compiled, err := expr.Compile(&ir.Expr{Pos: where, Text: c.text}, c.lim)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		_, err = compiled.Eval(nil)
		checkError(t, c.text, err, expr.TypeLimit, c.want)
	}
}

// The budget must suffice for honest work on the largest values.
func TestLargeWorkIsAllowed(t *testing.T) {
	vars := hostileEnv(t, 100_000)
	for _, text := range []string{
		`len([x for x in xs[:50000] if x > 10])`, `len(sorted(xs, reverse=True))`, `sum(xs)`, `len([xs[i * 10:(i + 1) * 10] for i in range(2000)])`, `s + t[:500000]`, `len(s.split("a"))`, `max(xs) + min(xs)`,
		`len(s.replace("a", "b"))`, `len(zip(xs, xs))`, `len({str(x): x for x in xs[:10000]})`, `len(enumerate(xs))`, `xs == xs2`, `len("-".join(xs_text))`, `"{} {}".format(s, n)[:5]`, `"%s is %s" % ["x", s[:400000]]`, `big + 1 > big`, `len(range(1000000))`,
	} {
		if _, err := eval(mustCompile(t, text), vars); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBudgetIsFresh(t *testing.T) {
	spend, err := expr.Compile(&ir.Expr{Text: `[x for x in xs for y in xs]`}, ir.Limits{ExpressionSteps: 30_000})
	if err != nil {
		t.Fatal(err)
	}
	c := mustCompile(t, `[x + 1 for x in xs[:1000]]`)
	vars := hostileEnv(t, 10_000)
	for range 20 {
		if _, err := eval(spend, vars); err == nil {
			t.Fatal("the budget is not spent")
		}
		if _, err := eval(c, vars); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzEval(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	for _, text := range []string{`order["items"][0]["sku"]`, `"{0} {x}".format(i, x=s)`, `{k: v for k, v in pairs}`, `sorted(xs, key=str)`, `1 if yes else unset`, `[a for (a, [b]) in []]`, `xs[::-1]`} {
		f.Add(text)
	}
	vars := env(f)
	lim := ir.Limits{ExpressionSteps: 10_000, ValueBytes: 10_000}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := expr.Compile(&ir.Expr{Pos: where, Text: text}, lim)
		if err != nil {
			var failed *ir.Error
			if !errors.As(err, &failed) || strings.Contains(err.Error(), "cannot be compiled") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		v, err := eval(c, vars)
		if err != nil {
			var failed *expr.EvalError
			if !errors.As(err, &failed) || strings.Contains(failed.Msg, "broke off") || strings.Contains(failed.Msg, "\n") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if !isNormal(v) {
			t.Fatalf("%q is not normal: %v", text, v)
		}
		again, err := eval(c, vars)
		if err != nil || !same(v, again) {
			t.Fatalf("%q is %v, and then %v, %v", text, v, again, err)
		}
	})
}
