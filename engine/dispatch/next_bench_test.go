package dispatch

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkNext asks when a machine must be stepped, where each of its shards has work that only a claim brings. What that
// costs for each shard must not grow with their number.
func BenchmarkNext(b *testing.B) {
	for _, shards := range []int{16, 128, 1024} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			m, err := New(Config{
				Owner: "me", Shards: shards, Slots: 16, Batch: 16, BatchBytes: 1 << 20, Committers: 4, Pending: 16, Queue: 16,
				Lease: time.Second, Poll: time.Second, Sweep: time.Second, RetryMin: time.Millisecond, RetryMax: time.Second,
			})
			if err != nil {
				b.Fatal(err)
			}
			m.begun = true
			for i := range m.shards {
				m.shards[i].more, m.shards[i].poll = true, time.Unix(1, 0)
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
