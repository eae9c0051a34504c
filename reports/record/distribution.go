package record

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Distribution counts times in buckets. All distributions of the same Bits have the same buckets: a nanosecond wide below
// 2^Bits, and above that each power of two is divided into 2^Bits equal parts. So a bucket is at most 2^-Bits as wide as its times
// are long.
type Distribution struct {
	Bits int `json:"bits"`
	// FromNS are the shortest times of the buckets that are not empty, ascending. Counts are how many times they hold.
	FromNS []int64 `json:"from_ns"`
	Counts []int64 `json:"counts"`
	// Endless counts what had not ended. It is longer than all times.
	Endless int64 `json:"endless"`
}

// The resolutions of distributions.
const (
	// FineBits: a bucket is at most 0.8 % wide.
	FineBits = 7
	// CoarseBits: a bucket is at most 25 % wide.
	CoarseBits = 2
	// HistogramBits is that of histograms of three significant digits.
	HistogramBits = 10

	bitsMost = 16
)

// NewDistribution counts times, in any order, and endless ones.
func NewDistribution(resolution int, times []int64, endless int64) *Distribution {
	d := &Distribution{Bits: resolution, FromNS: []int64{}, Counts: []int64{}, Endless: endless}
	counts := map[int64]int64{}
	for _, ns := range times {
		counts[d.floor(ns)]++
	}
	for from := range counts {
		d.FromNS = append(d.FromNS, from)
	}
	slices.Sort(d.FromNS)
	for _, from := range d.FromNS {
		d.Counts = append(d.Counts, counts[from])
	}
	return d
}

// floor is the shortest time of the bucket of ns.
func (d *Distribution) floor(ns int64) int64 {
	ns = max(ns, 0)
	if shift := bits.Len64(uint64(ns)) - 1 - d.Bits; shift > 0 {
		return ns >> shift << shift
	}
	return ns
}

// Bucket returns the shortest and the longest time of the i-th bucket, and how many times it holds.
func (d *Distribution) Bucket(i int) (from, to, count int64) {
	from = d.FromNS[i]
	width := int64(1)
	if shift := bits.Len64(uint64(from)) - 1 - d.Bits; shift > 0 {
		width <<= shift
	}
	return from, from + (width - 1), d.Counts[i]
}

// Ended is how many times are counted.
func (d *Distribution) Ended() int64 {
	if d == nil {
		return 0
	}
	n := int64(0)
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// Count is Ended and what had not ended.
func (d *Distribution) Count() int64 {
	if d == nil {
		return 0
	}
	return d.Ended() + d.Endless
}

// Quantile returns the time that a share of all does not exceed, rounded up to the end of its bucket; false if that share had not
// ended, or nothing was counted.
func (d *Distribution) Quantile(share float64) (int64, bool) {
	if d.Count() == 0 {
		return 0, false
	}
	rank := max(int64(math.Ceil(share*float64(d.Count()))), 1)
	for i := range d.FromNS {
		_, to, count := d.Bucket(i)
		if rank -= count; rank <= 0 {
			return to, true
		}
	}
	return 0, false
}

func (d *Distribution) validate() error {
	switch {
	case d == nil:
		return nil
	case d.Bits < 0 || d.Bits > bitsMost:
		return fmt.Errorf("a distribution of times has %d bits, which are from 0 to %d", d.Bits, bitsMost)
	case len(d.FromNS) != len(d.Counts):
		return fmt.Errorf("a distribution of times has %d buckets and %d counts", len(d.FromNS), len(d.Counts))
	case d.Endless < 0:
		return errors.New("a distribution of times has a negative count")
	}
	total := d.Endless
	for i, from := range d.FromNS {
		switch {
		case from < 0 || from != d.floor(from):
			return fmt.Errorf("a distribution of times has a bucket from %d ns, which none of %d bits begins at", from, d.Bits)
		case i > 0 && from <= d.FromNS[i-1]:
			return errors.New("the buckets of a distribution of times do not ascend")
		case d.Counts[i] < 0 || d.Counts[i] > math.MaxInt64-total:
			return errors.New("a distribution of times has a negative count, or too many")
		}
		total += d.Counts[i]
	}
	return nil
}
