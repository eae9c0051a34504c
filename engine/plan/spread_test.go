package plan_test

import (
	"strings"
	"testing"
)

// Elements large enough to be passed by their slot must be stored there, whatever the branch begins with and however many run
// at once.
func TestLargeElements(t *testing.T) {
	for name, do := range map[string]string{
		"action":            "spread n:v -> @echo(value=v)",
		"limit":             "spread n:v limit 1 -> @echo(value=v)",
		"function":          "spread n:v -> f(x=v)",
		"function, limited": "spread n:v limit 1 -> f(x=v)",
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(compile(t, "large.ir", "fn main(input: [n], output: [r]):\n    r = "+do+"\n\nfn f(input: [x], output: [x]):\n    x = @echo(value=x)\n"))
			d.act = act
			list := `["` + strings.Repeat("a", 2000) + `","` + strings.Repeat("b", 2000) + `","` + strings.Repeat("c", 2000) + `"]`
			if err := d.run(`{"n": ` + list + `}`); err != nil {
				t.Fatal(err)
			}
			if d.end.Failure != nil || string(d.end.Result) != list {
				t.Errorf("%v, %.40s…", d.end.Failure, d.end.Result)
			}
		})
	}
}
