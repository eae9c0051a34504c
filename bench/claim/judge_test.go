package claim

import (
	"math"
	"strings"
	"testing"
)

func TestFigureVerdicts(t *testing.T) {
	for _, c := range []struct {
		bound              Bound
		claimed, tolerance float64
		values             []float64
		want               Verdict
	}{
		{AtLeast, 10, 0, []float64{10, 11, 12}, Holds},
		{AtLeast, 10, 0, []float64{9, 11, 12}, Open},
		{AtLeast, 10, 0, []float64{7, 8, 9}, Fails},
		{AtMost, 10, 0, []float64{7, 8, 10}, Holds},
		{AtMost, 10, 0, []float64{7, 8, 10.1}, Open},
		{AtMost, 0, 0, []float64{0, 0}, Holds},
		{AtMost, 10, 0, []float64{11}, Fails},
		{About, 10, 1, []float64{9, 11}, Holds},
		{About, 10, 1, []float64{8, 11}, Open},
		{About, 10, 1, []float64{12, 13}, Fails},
		{About, 10, 1, []float64{8}, Fails},
		{Alongside, 0, 0, []float64{-5, 5}, Holds},
		{AtLeast, 10, 0, nil, Unmeasured},
		{AtLeast, 10, 0, []float64{math.NaN()}, Unmeasured},
	} {
		f := Figure{Name: "f", Bound: c.bound, Claimed: c.claimed, Tolerance: c.tolerance}.Measure(c.values)
		if f.Verdict != c.want || (f.Median == nil) != (c.want == Unmeasured) {
			t.Errorf("%s %v ± %v of %v: %s; want %s", c.bound, c.claimed, c.tolerance, c.values, f.Verdict, c.want)
		}
	}
}

func TestClaimVerdicts(t *testing.T) {
	for text, want := range map[string]Verdict{
		"holds": Holds, "holds holds": Holds, "does not hold": Fails, "open": Depends, "holds,open": Depends,
		"holds,does not hold": Depends, "does not hold,open": Depends, "not measured": Unmeasured, "": Unmeasured, "holds,not measured": Holds,
	} {
		var c Claim
		for _, v := range strings.Split(strings.ReplaceAll(text, "holds holds", "holds,holds"), ",") {
			if v != "" {
				c.Figures = append(c.Figures, Figure{Name: v, Bound: AtLeast, Verdict: Verdict(v), Note: "because"})
			}
		}
		got := c.Judge()
		if got.Verdict != want {
			t.Errorf("%q: %s; want %s", text, got.Verdict, want)
		}
		if missing := strings.Contains(text, "not measured"); missing != strings.Contains(got.Why, "because") || got.Measured() == (missing || text == "") {
			t.Errorf("%q: measured %v, %q", text, got.Measured(), got.Why)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, v := range map[string]float64{"4,600": 4600, "1,234,568": 1234567.8, "-1,000": -1000, "96": 96, "0.0113": 0.01134, "2.5": 2.5, "0": 0, "12.3": 12.345} {
		if got := Number(v); got != want {
			t.Errorf("%v: %q; want %q", v, got, want)
		}
	}
}

// No line may exceed the width, and no text be lost.
func TestLongTextIsBroken(t *testing.T) {
	var b, words strings.Builder
	for range 60 {
		words.WriteString("word ünïcode ")
	}
	if err := WriteText(&b, []Claim{{ID: "id", Method: words.String()}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > textWidth {
			t.Errorf("%d wide: %s", n, line)
		}
	}
	if got := strings.Count(b.String(), "ünïcode"); got != 60 {
		t.Errorf("%d of 60 words", got)
	}
}
