package reports

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The library's own logarithmic ticks do not guarantee labels.
func TestAxesAlwaysHaveLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := math.Pow(10, rapid.Float64Range(-6, 12).Draw(t, "exponent"))
		hi := lo * math.Pow(10, rapid.Float64Range(0, 14).Draw(t, "decades"))
		if rapid.Bool().Draw(t, "one figure") {
			hi = lo
		}
		limit := rapid.IntRange(5, 9).Draw(t, "labels")
		from, to := logLimits(lo, hi)
		if from > lo*(1+2*sameStep) || to < hi*(1-2*sameStep) || to/from < 10*(1-1e-9) {
			t.Fatalf("limits %g … %g around %g … %g", from, to, lo, hi)
		}
		labels := map[string]bool{}
		shown := 0
		for _, tick := range (logTicker{tickNumber, limit}).Ticks(from, to) {
			if tick.Value < from*(1-1e-9) || tick.Value > to*(1+1e-9) {
				t.Fatalf("tick %g is outside of %g … %g", tick.Value, from, to)
			}
			if tick.Label != "" {
				labels[tick.Label] = true
				shown++
			}
		}
		if shown < 2 || shown > limit || len(labels) != shown {
			t.Fatalf("%d labels (%v), want 2 to %d, all different, on %g … %g", shown, labels, limit, from, to)
		}
	})
}

func TestTickLabels(t *testing.T) {
	for v, want := range map[float64]string{
		0.05: "0.05", 0.2: "0.2", 1: "1", 5: "5", 2000: "2,000", 50_000: "50,000", 100_000: "100k", 2_000_000: "2M", 5e9: "5G",
	} {
		if got := tickNumber(v); got != want {
			t.Errorf("%g: got %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{0.5: "0.5 ns", 20: "20 ns", 1e3: "1 µs", 5e5: "500 µs", 2e6: "2 ms", 1e10: "10 s", 1e13: "10,000 s"} {
		if got := tickUnit(timeUnits)(ns); got != want {
			t.Errorf("%g ns: got %q, want %q", ns, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.00", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 123.4: "123", 999.4: "999", 999.6: "1,000", 1234567: "1,234,567",
		0.012345: "0.0123", 0.09996: "0.100", 0.00001234: "1.23e-05", -12.34: "-12.3", -1234: "-1,234",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{0: "0 ns", 1: "1 ns", 850: "850 ns", 999.9: "1.00 µs", 12345: "12.3 µs", 1.5e6: "1.50 ms", 7.2e12: "7,200 s"} {
		if got := duration(ns); got != want {
			t.Errorf("%v ns: got %q, want %q", ns, got, want)
		}
	}
}

// WCAG 2.1 demands a contrast with the background of 3 for shapes and 4.5 for text.
func TestColorsStandOut(t *testing.T) {
	for _, r := range seriesColors {
		atLeast(t, r.variable, 3, r.light, paper.light)
		atLeast(t, r.variable, 3, r.dark, paper.dark)
	}
	for _, r := range []role{ink, faint} {
		atLeast(t, r.variable, 4.5, r.light, paper.light)
		atLeast(t, r.variable, 4.5, r.dark, paper.dark)
	}
}

func atLeast(t *testing.T, name string, want float64, a, b color.RGBA) {
	t.Helper()
	la, lb := luminance(a), luminance(b)
	if got := (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05); got < want {
		t.Errorf("%s %s on %s: contrast %.2f, want %.1f", name, hexOf(a), hexOf(b), got, want)
	}
}

func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.03928 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// If two roles had the same light colour, variables could not replace a drawing's colours.
func TestRolesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, r := range roles() {
		if other := seen[hexOf(r.light)]; other != "" {
			t.Errorf("%s and %s are both %s", other, r.variable, hexOf(r.light))
		}
		seen[hexOf(r.light)] = r.variable
		if got, want := useVariables("fill:"+hexOf(r.light)+";"), "fill:var("+r.variable+");"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, dark := range []bool{false, true} {
			if !strings.Contains(cssVariables(dark), r.variable+":#") {
				t.Errorf("%s is not declared", r.variable)
			}
		}
	}
}

func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"a": list([]string{"a"}), "a and b": list([]string{"a", "b"}), "a, b and c": list([]string{"a", "b", "c"}),
		"1 row": plural(1, "row"), "2,000 rows": plural(2000, "row"), "ab…": clip("abcdef", 3), "abc": clip("abc", 3),
		"a?b": printable("a\x1bb"), "1.00 to 2.00": span(1, 2, number), "1.00": span(1, 1.001, number),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
