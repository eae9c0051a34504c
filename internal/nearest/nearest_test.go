package nearest

import "testing"

func TestWord(t *testing.T) {
	words := []string{"fanout", "loop", "spread", "überall"}
	for text, want := range map[string]string{
		"fan-out": "fanout", "lop": "loop", "loops": "loop", "sperad": "spread", "berall": "überall", "uberall": "überall",
		"": "", "xyzzy": "", "a": "", "fanout": "fanout",
	} {
		if got := Word(text, words); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Word("ab", []string{"abc", "abd"}); got != "abc" {
		t.Errorf("of two that are as near, the second: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"tarce", "trace", 1}, {"ab", "ba", 1}, {"abc", "cba", 2}, {"Öl", "öl", 1}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
