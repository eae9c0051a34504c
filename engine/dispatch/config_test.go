package dispatch

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

// Rapid runs longer histories, unless flags say otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": "1000", "rapid.steps": "100"} {
		if !set[name] {
			_ = flag.Set(name, value) // both flags exist: rapid is linked in
		}
	}
	os.Exit(m.Run())
}

func TestConfigReportsEverythingThatIsWrong(t *testing.T) {
	_, err := New(Config{Prefetch: -1, Grace: -1, RetryMin: time.Second, NotifyEvery: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{
		"Shards is 0", "Slots is 0", "Prefetch is -1", "Batch is 0", "BatchBytes is 0", "Committers is 0", "Pending is 0",
		"Queue is 0", "Lease is 0s", "Grace is -1ns", "Poll is 0s", "Sweep is 0s", "NotifyEvery is -1ns", "RetryMax is 0s, must be at least 1s",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%q is not in: %v", field, err)
		}
	}
	if strings.Contains(err.Error(), "RetryMin") {
		t.Errorf("RetryMin is right: %v", err)
	}
}

func TestQueueKeepsItsOrder(t *testing.T) {
	var q fifo[int]
	for round := range 3 {
		for i := range 5 {
			q.push(10*round + i)
		}
		for i := range 4 {
			if got := q.pop(); got != 10*round+i {
				t.Fatalf("round %d: %d came, not %d", round, got, 10*round+i)
			}
		}
		q.unpop([]int{7, 8})
		q.remove(func(v int) bool { return v == 8 })
		if q.peek() != 7 || q.len() != 2 {
			t.Fatalf("round %d: %v is left", round, q.items[q.head:])
		}
		q.pop()
		q.pop()
	}
}
