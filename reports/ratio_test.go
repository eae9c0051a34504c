package reports

import "testing"

// A multiple is left out where the runs show none, and marked where too few runs do.
func TestRatioInShort(t *testing.T) {
	for want, r := range map[string]ratio{
		"2.00×":    {value: 2, lo: 1.5, hi: 2.5, ok: true},
		"~ 2.00×":  {value: 2, lo: 1.5, hi: 2.5, ok: true, undecided: true},
		"~ 0.500×": {value: 0.5, lo: 0.4, hi: 0.9, ok: true, undecided: true},
		"~":        {value: 1.1, lo: 0.9, hi: 1.3, ok: true, undecided: true},
	} {
		if got := r.short(); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}
