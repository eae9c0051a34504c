package wfformat

import "testing"

func BenchmarkParse(b *testing.B) {
	trace, err := Generate(Montage, 1000, 1)
	if err != nil {
		b.Fatal(err)
	}
	text := written(b, trace)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse("b.json", text, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGraph(b *testing.B) {
	trace, err := Generate(Montage, 1000, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := trace.Graph(GraphOptions{TimeScale: 0.01}); err != nil {
			b.Fatal(err)
		}
	}
}
