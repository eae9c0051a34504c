package chart

import (
	"image/color"
	"math"
	"strings"
	"testing"
)

// WCAG 2.1 demands a contrast with the background of 3 for shapes and 4.5 for text.
func TestColorsStandOut(t *testing.T) {
	for _, r := range seriesColors {
		atLeast(t, r.name, 4.5, r.light, paper.light)
		atLeast(t, r.name, 4.5, r.dark, paper.dark)
	}
	for _, r := range []role{ink, faint} {
		atLeast(t, r.name, 4.5, r.light, paper.light)
		atLeast(t, r.name, 4.5, r.dark, paper.dark)
	}
}

func atLeast(t *testing.T, name string, want float64, a, b color.RGBA) {
	t.Helper()
	la, lb := luminance(a), luminance(b)
	if got := (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05); got < want {
		t.Errorf("%s %v on %v: contrast %.2f, want %.1f", name, a, b, got, want)
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

// If two roles had the same light colour, a drawing's colours could not be told apart again.
func TestRolesDiffer(t *testing.T) {
	for _, r := range roles() {
		if got := roleOf(r.light); got != r {
			t.Errorf("%s is taken for %s", r.name, got.name)
		}
		if got := roleOf(faded(r, 0.3)); got != r {
			t.Errorf("%s, faded, is taken for %s", r.name, got.name)
		}
		for _, dark := range []bool{false, true} {
			if !strings.Contains(Variables(dark), "--"+r.name+":#") {
				t.Errorf("%s is not declared", r.name)
			}
		}
	}
}
