package main

import (
	"os"
	"testing"
)

// The program counts in the directory of one of two packages: the processor time is that package's.
func TestSpentTellsOfThePackage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"a/b", "a/c"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := within(func(p *workdir) error {
		m, err := p.meterSpent()
		if err != nil {
			return err
		}
		const counts = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7"
		if code := status(p.run(t.Context(), command{args: m.through("sh", "-c", counts), dir: "a/b"})); code != 7 {
			t.Errorf("exit status %d, want that of the program", code)
		}
		if one, other := m.spent("pulley/a/b"), m.spent("pulley/a/c"); one <= 0 || other != 0 {
			t.Errorf("%v s and %v s, want some and none", one, other)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSecondsOfChildren(t *testing.T) {
	for text, want := range map[string]float64{
		"0m0.01s 0m0.00s\n1m2.5s 0m3.25s\n": 65.75, "0m0,010s 0m0,000s\n0m1,500s 0m0,250s": 1.75, "": 0, "never\n": 0,
	} {
		if got := secondsOfChildren(text); got != want {
			t.Errorf("%q: %v s, want %v", text, got, want)
		}
	}
}
