package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// On shards with work that only a claim brings, the cost of Next for each shard must not grow with their number.
func BenchmarkNext(b *testing.B) {
	for _, shards := range []int{16, 128, 1024} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			m, err := New(Config{
				Owner: "me", Shards: shards, Slots: 16, Batch: 16, BatchBytes: 1 << 20, Committers: 4, Pending: 16, Queue: 16, MaxDeliveries: 5,
				Lease: time.Second, Poll: time.Second, Sweep: time.Second, RetryMin: time.Millisecond, RetryMax: time.Second,
			})
			if err != nil {
				b.Fatal(err)
			}
			m.begun = true
			for i := range m.shards {
				s := &m.shards[i]
				s.more, s.poll, s.claimPause.until = true, time.Unix(1, 0), time.Unix(1, 0)
			}
			for b.Loop() {
				if m.Next().IsZero() {
					b.Fatal("nothing is waited for")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(shards), "ns/shard")
		})
	}
}

// The waiting tasks are lost, last first. The cost of each must not grow with their number.
func BenchmarkLose(b *testing.B) {
	for _, waiting := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			now := time.Unix(1, 0)
			tasks := make([]backend.Task, waiting)
			for i := range tasks {
				key := backend.Key{Instance: uuid.UUID{byte(i), byte(i >> 8), byte(i >> 16)}, Run: graph.Run{Node: 1}}
				tasks[i] = backend.Task{Lease: backend.Lease{Key: key, Token: 1}, Action: "work", Expires: now.Add(time.Hour)}
			}
			for b.Loop() {
				b.StopTimer()
				m, err := New(Config{
					Owner: "me", Shards: 1, Slots: 1, Prefetch: waiting, Batch: 16, BatchBytes: 1 << 20, Committers: 4, Pending: 16, Queue: 16, MaxDeliveries: 5,
					Lease: time.Hour, Poll: time.Second, Sweep: time.Second, RetryMin: time.Millisecond, RetryMax: time.Second,
				})
				if err != nil {
					b.Fatal(err)
				}
				m.begun, m.now = true, now
				m.adopt(now, tasks)
				b.StartTimer()
				for id := m.tasks.last; m.ready.len() > 0; id-- {
					m.lose(m.tasks.get(id), ErrLeaseLost)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(waiting), "ns/task")
		})
	}
}
