package process

import (
	"encoding/json"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/worker"
)

const atOnce = 4

// BenchmarkOfBare compares the rate of attempts with a loop that only starts the same program and waits for it. The two
// alternate. ratio compares the rates: 1 means that an attempt costs as much as its program. cpu-ratio compares processor time,
// the programs' included, which other load affects less.
func BenchmarkOfBare(b *testing.B) {
	program, err := exec.LookPath("echo")
	if err != nil {
		b.Fatal(err)
	}
	r := registry(b, Config{AtOnce: atOnce}, map[string][]string{"one": {program, "1"}})
	task := backend.Task{Action: "one", Args: json.RawMessage("{}"), Attempt: 1}
	turns := []func() error{
		func() error { return exec.Command(program, "1").Run() },
		func() error {
			if _, failure := r.Execute(b.Context(), task); failure != nil {
				return &worker.Error{Type: failure.Type, Message: failure.Message}
			}
			return nil
		},
	}
	var spent, used [2]time.Duration
	const block = 100
	for b.Loop() {
		for i, run := range turns {
			began, before := time.Now(), processorTime(b)
			var all sync.WaitGroup
			for range atOnce {
				all.Go(func() {
					for range block / atOnce {
						if err := run(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			spent[i] += time.Since(began)
			used[i] += processorTime(b) - before
		}
	}
	each := float64(b.N * block)
	b.ReportMetric(spent[0].Seconds()/spent[1].Seconds(), "ratio")
	b.ReportMetric(used[0].Seconds()/used[1].Seconds(), "cpu-ratio")
	b.ReportMetric(each/spent[0].Seconds(), "bare/s")
	b.ReportMetric(each/spent[1].Seconds(), "attempts/s")
}

// processorTime is what this process and the processes that it waited for have used.
func processorTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return sum
}
