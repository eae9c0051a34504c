package units

import "testing"

func TestTickLabels(t *testing.T) {
	for v, want := range map[float64]string{
		0.05: "0.05", 0.2: "0.2", 1: "1", 5: "5", 2000: "2,000", 50_000: "50k", 2.5: "2.5", 100_000: "100k", 2_000_000: "2M", 5e9: "5G",
	} {
		if got := None.Tick(v); got != want {
			t.Errorf("%g: got %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{0.5: "0.5 ns", 20: "20 ns", 1e3: "1 µs", 5e5: "500 µs", 2e6: "2 ms", 1e10: "10 s", 1e13: "10,000 s"} {
		if got := Nanoseconds.Tick(ns); got != want {
			t.Errorf("%g ns: got %q, want %q", ns, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.00", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 123.4: "123", 999.4: "999", 999.6: "1,000", 1234567: "1,234,567",
		0.012345: "0.0123", 0.09996: "0.100", 0.00001234: "1.23e-05", -12.34: "-12.3", -1234: "-1,234",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{0: "0 ns", 1: "1 ns", 850: "850 ns", 999.9: "1.00 µs", 12345: "12.3 µs", 1.5e6: "1.50 ms", 7.2e12: "7,200 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("%v ns: got %q, want %q", ns, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit       Unit
		v          float64
		text, tick string
	}{
		{Nanoseconds, 1500, "1.50 µs", "1.5 µs"}, {Seconds, 2, "2.00 s", "2"}, {ByteCount, 820, "820 B", "820 B"}, {Share, 0.25, "25.0 %", "25 %"},
		{Ratio, 2.5, "2.50×", "2.5×"}, {Percentile, 2, "p50", "p50"}, {Percentile, 100, "p99", "p99"}, {Percentile, 1000, "p99.9", "p99.9"},
		{Percentile, 20, "p95", "p95"}, {None, 0, "0", "0"}, {None, -20, "-20.0", "-20"},
	} {
		if got := c.unit.Format(c.v); got != c.text {
			t.Errorf("%v in %q: got %q, want %q", c.v, c.unit, got, c.text)
		}
		if got := c.unit.Tick(c.v); got != c.tick {
			t.Errorf("tick %v in %q: got %q, want %q", c.v, c.unit, got, c.tick)
		}
	}
}

func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"a": List([]string{"a"}), "a and b": List([]string{"a", "b"}), "a, b and c": List([]string{"a", "b", "c"}),
		"1 row": Plural(1, "row"), "2,000 rows": Plural(2000, "row"), "ab…": Clip("abcdef", 3), "abc": Clip("abc", 3),
		"a?b": Printable("a\x1bb"), "1.00 to 2.00": Span(1, 2, Number), "1.00": Span(1, 1.001, Number),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
