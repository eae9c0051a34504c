package wfformat

import (
	"bytes"
	"runtime"
	"testing"

	"pulley/internal/depth"
)

// bytes and pieces are per task, perByte is per byte of the file.
type cost struct{ bytes, pieces, perByte float64 }

func reading(t *testing.T, shape Shape, tasks int) cost {
	t.Helper()
	made, err := GenerateWithin(shape, tasks, 1, tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range made.Tasks { // as in a measured run
		made.Tasks[i].ExecutedAt, made.Tasks[i].Machines = "2026-01-01T00:00:00Z", []string{"localhost"}
	}
	var text bytes.Buffer
	if err := Write(&text, made); err != nil {
		t.Fatal(err)
	}
	made = nil
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Parse("large.json", text.Bytes(), Limits{Tasks: tasks})
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Tasks) != tasks {
		t.Fatal(err)
	}
	taken := float64(after.TotalAlloc - before.TotalAlloc)
	return cost{taken / float64(tasks), float64(after.Mallocs-before.Mallocs) / float64(tasks), taken / float64(text.Len())}
}

// The cost per task must hardly grow with the trace, and a multiple of the file's size must bound the total. Nothing else in
// the process may allocate concurrently.
func TestLargeTracesCostAsMuchATask(t *testing.T) {
	for _, shape := range []Shape{Layered, Montage, Scatter} {
		small, large := reading(t, shape, 2_000), reading(t, shape, depth.Of(20_000, 100_000))
		t.Logf("%s: %.0f bytes in %.1f pieces a task of a small trace, %.0f in %.1f of a large one, %.1f times the file", shape, small.bytes, small.pieces, large.bytes, large.pieces, large.perByte)
		if large.bytes > 1.6*small.bytes || large.pieces > 1.1*small.pieces || large.perByte > 12 {
			t.Errorf("%s: a task of a small trace costs %+v, of a large one %+v", shape, small, large)
		}
	}
}
