package ir

import (
	"testing"
	"time"
)

// Programs that differ in one thing are not equal, and neither are their prints.
func TestEqual(t *testing.T) {
	sources := []string{
		"pass", "break_ = 1", "return", "return a", "return b", "return a, b", "sleep 1", "sleep 2", "a", "b",
		"x = a", "y = a", "x, y = a", "x, y = b", "x, z = a",
		"@f()", "@g()", "@f.g()", "x = @f()", "@f(x=1)", "@f(y=1)", "@f(x=2)", "@f(x=1, y=2)", "@f(y=2, x=1)",
		"@f() [retry: 1]", "@f() [retry: 2]", "@f() [A -> retry: 1]", "@f() [B -> retry: 1]", "@f() [A, B -> retry: 1]",
		"@f() [retry: 1, backoff: 1s]", "@f() [retry: 1, backoff: 2s]", "@f() [timeout: 1s]", "@f() [timeout: 2s]",
		"@f() [A -> retry: 1] [retry: 2]",
		"g(x=1)", "g(x=2)", "h(x=1)",
		"spread a:x -> @f()", "spread b:x -> @f()", "spread a:y -> @f()", "spread a:x limit 1 -> @f()",
		"spread a:x limit 2 -> @f()", "spread a:x -> @g()", "spread a:x -> g(x=1)", "spread a:x -> g(x=x)",
		"parallel:\n        @f()", "parallel:\n        @f()\n        @f()", "parallel:\n        @g()",
		"parallel:\n        g(x=1)",
		"for x in a:\n        pass", "for y in a:\n        pass", "for x, y in a:\n        pass", "for x in b:\n        pass",
		"for x in a:\n        break", "for x in a:\n        continue", "for x in a:\n        pass\n        pass",
		"while a:\n        pass", "while b:\n        pass", "while a:\n        break",
		"if a:\n        pass", "if b:\n        pass", "if a:\n        return", "if a:\n        pass\n    else:\n        pass",
		"if a:\n        pass\n    else:\n        return", "if a:\n        pass\n    elif a:\n        pass",
		"if a:\n        pass\n    elif b:\n        pass",
		"try:\n        pass\n    except:\n        pass", "try:\n        return\n    except:\n        pass",
		"try:\n        pass\n    except:\n        return", "try:\n        pass\n    except A:\n        pass",
		"try:\n        pass\n    except B:\n        pass", "try:\n        pass\n    except A, B:\n        pass",
		"try:\n        pass\n    except as e:\n        pass", "try:\n        pass\n    except as f:\n        pass",
		"try:\n        pass\n    except A as e:\n        pass",
		"try:\n        pass\n    except A:\n        pass\n    except:\n        pass",
	}
	const functions = "\nfn g(input: [x], output: []):\n    pass\n\nfn h(input: [x], output: []):\n    pass\n"
	var programs []*Program
	for _, s := range sources {
		programs = append(programs, parsed(t, inMain(s)+functions))
	}
	for _, s := range []string{
		"fn main(input: [], output: []):\n    pass\n", "fn main(input: [a], output: [a]):\n    pass\n",
		"fn main(input: [b], output: []):\n    pass\n", inMain("pass"),
		inMain("pass") + "\nfn h(input: [x], output: []):\n    pass\n\nfn g(input: [x], output: []):\n    pass\n",
	} {
		programs = append(programs, parsed(t, s))
	}
	for i, a := range programs {
		for j, b := range programs {
			if Equal(a, b) != (i == j) || (Print(a) == Print(b)) != (i == j) {
				t.Errorf("equal: %t, of\n%sand\n%s", Equal(a, b), Print(a), Print(b))
			}
		}
	}
}

func parsed(t *testing.T, source string) *Program {
	t.Helper()
	p, err := Parse("w.ir", []byte(source), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Nanosecond:         "1ms",
		1500 * time.Microsecond: "2ms",
		time.Millisecond:        "1ms",
		999 * time.Millisecond:  "999ms",
		time.Second:             "1s",
		60 * time.Second:        "1m",
		61 * time.Second:        "61s",
		90 * time.Minute:        "90m",
		48 * time.Hour:          "48h",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%v prints as %s, want %s", d, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	if got := (&Error{Msg: "built in Go"}).Error(); got != "-: built in Go" {
		t.Errorf("without a position: %q", got)
	}
	zero := Limits{}.WithDefaults()
	if zero != (Limits{1 << 20, 64, 10_000, 100_000, 100_000, 10_000, 1 << 20, 1_000_000}) {
		t.Errorf("the defaults are %+v", zero)
	}
	if set := (Limits{Nesting: 3}).WithDefaults(); set.Nesting != 3 || set.Nodes != zero.Nodes {
		t.Errorf("a limit that is set gives %+v", set)
	}
}
