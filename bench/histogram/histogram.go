// Package histogram records latencies in histograms, and writes and reads them as logs that HdrHistogram's tools read, too.
package histogram

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pulley/reports/record"
)

// The range of a Hist: one nanosecond to one hour, to three significant digits.
const (
	histMinNS  int64 = 1
	histMaxNS  int64 = int64(time.Hour)
	histDigits       = 3
)

// Hist is a histogram of durations in nanoseconds, of about 280 KiB. It is not safe for concurrent use: give each worker its
// own and Merge them at the end. [New] makes one; the zero Hist is not usable.
//
// Nothing is dropped silently. A duration out of range is recorded at the range's end and counted as clipped. What the
// histogram refuses or loses in a merge is counted as dropped. Warnings reports both.
type Hist struct {
	h                *hdrhistogram.Histogram
	maxNS            int64 // exact; the histogram would round up
	clipped, dropped int64
}

// New returns an empty histogram.
func New() *Hist {
	return &Hist{h: hdrhistogram.New(histMinNS, histMaxNS, histDigits)}
}

// Record adds one duration.
func (h *Hist) Record(d time.Duration) {
	ns := min(max(int64(d), histMinNS), histMaxNS)
	if ns != int64(d) {
		h.clipped++
	}
	if err := h.h.RecordValue(ns); err != nil {
		h.dropped++
		return
	}
	h.maxNS = max(h.maxNS, ns)
}

// Merge adds the content of o, including its clipped and dropped counts.
func (h *Hist) Merge(o *Hist) {
	h.dropped += h.h.Merge(o.h) + o.dropped
	h.clipped += o.clipped
	h.maxNS = max(h.maxNS, o.maxNS)
}

// Count is the number of recorded durations.
func (h *Hist) Count() int64 { return h.h.TotalCount() }

// Clipped is the number of durations outside of 1 ns … 1 h, recorded at its end.
func (h *Hist) Clipped() int64 { return h.clipped }

// Dropped is the number of durations that are not in the histogram.
func (h *Hist) Dropped() int64 { return h.dropped }

// Warnings describes what the percentiles do not show; nil for nothing.
func (h *Hist) Warnings() []string {
	var out []string
	if h.clipped > 0 {
		out = append(out, fmt.Sprintf("%d of %d latencies lay outside of 1 ns … 1 h and were clipped", h.clipped, h.Count()))
	}
	if h.dropped > 0 {
		out = append(out, fmt.Sprintf("%d latencies could not be recorded and are missing", h.dropped))
	}
	return out
}

// Percentiles returns the usual percentiles, or nil for an empty histogram. The maximum is exact, the others are up to 0.1 %
// too high.
func (h *Hist) Percentiles() *record.Percentiles {
	if h.Count() == 0 {
		return nil
	}
	return &record.Percentiles{P50: h.at(50), P99: h.at(99), P999: h.at(99.9), Max: h.maxNS}
}

// InstancePercentiles is Percentiles for latencies of instances, too few for a 99.9th percentile.
func (h *Hist) InstancePercentiles() *record.InstancePercentiles {
	if h.Count() == 0 {
		return nil
	}
	return &record.InstancePercentiles{P50: h.at(50), P99: h.at(99), Max: h.maxNS}
}

// at is at most the maximum, which the histogram would round up.
func (h *Hist) at(percentile float64) int64 {
	return min(h.h.ValueAtPercentile(percentile), h.maxNS)
}

// Tagged is a named histogram of an interval.
type Tagged struct {
	// Tag names it: "hop/fanout/push/100". Commas and white space, which a log does not allow, become underscores.
	Tag        string
	Start, End time.Time
	Hist       *Hist
}

// WriteLog writes histograms as a HdrHistogram log, version 1.3 with V2 encoding. Values are nanoseconds, the column of maxima
// milliseconds, as is customary. Comments are written first, one per line. The iterator may reuse memory between histograms;
// the first one's start is that of the log.
func WriteLog(w io.Writer, comments []string, list iter.Seq[Tagged]) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	if err := log.OutputLogFormatVersion(); err != nil {
		return err
	}
	for _, c := range append([]string{"Values are nanoseconds."}, comments...) {
		if err := log.OutputComment(" " + strings.Join(strings.Fields(c), " ")); err != nil {
			return err
		}
	}
	begun := false
	for t := range list {
		if !begun {
			if err := beginLog(log, t.Start); err != nil {
				return err
			}
			begun = true
		}
		h := t.Hist.h.Clone()
		h.SetTag(cleanTag(t.Tag))
		h.SetStartTimeMs(t.Start.UnixMilli())
		h.SetEndTimeMs(t.End.UnixMilli())
		if err := log.OutputIntervalHistogram(h); err != nil {
			return err
		}
	}
	if !begun {
		return log.OutputLegend()
	}
	return nil
}

func beginLog(log *hdrhistogram.HistogramLogWriter, start time.Time) error {
	if err := log.OutputStartTime(start.UnixMilli()); err != nil {
		return err
	}
	return log.OutputLegend()
}

// WritePercentiles writes a percentile distribution (.hgrm) for HdrHistogram's plotters, in milliseconds.
func WritePercentiles(w io.Writer, h *Hist) error {
	const ticksPerHalf = 5
	_, err := h.h.PercentilesPrint(w, ticksPerHalf, float64(time.Millisecond))
	return err
}

func cleanTag(tag string) string {
	return strings.Map(func(r rune) rune {
		if r == ',' || r <= ' ' || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return '_'
		}
		return r
	}, tag)
}

// Distribution returns the histogram as records have it.
func (h *Hist) Distribution() *record.Distribution { return distribution(h.h) }

// distribution has the same buckets: with three significant digits, from one nanosecond, a histogram divides each power of two into
// 2^10 parts.
func distribution(h *hdrhistogram.Histogram) *record.Distribution {
	d := &record.Distribution{Bits: record.HistogramBits, FromNS: []int64{}, Counts: []int64{}}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			d.FromNS, d.Counts = append(d.FromNS, bar.From), append(d.Counts, bar.Count)
		}
	}
	return d
}

// logMost bounds the histograms of a log.
const logMost = 10_000

// ReadLog reads what WriteLog wrote: the distributions by their tags. Those of one tag and the same time are not merged; the last
// one stands.
func ReadLog(r io.Reader) (map[string]*record.Distribution, error) {
	log := hdrhistogram.NewHistogramLogReader(r)
	out := map[string]*record.Distribution{}
	for n := 1; ; n++ {
		h, err := log.NextIntervalHistogram()
		switch {
		case err != nil:
			return nil, fmt.Errorf("histogram %d: %w", n, err)
		case h == nil:
			return out, nil
		case n > logMost:
			return nil, fmt.Errorf("there are more than %d histograms", logMost)
		case h.LowestTrackableValue() > 1 || h.SignificantFigures() != histDigits:
			return nil, fmt.Errorf("histogram %d has %d significant digits from %d on, not %d from 1 on", n, h.SignificantFigures(), h.LowestTrackableValue(), histDigits)
		}
		out[h.Tag()] = distribution(h)
	}
}

// HopTag and InstanceTag name the histograms of a row in a log.
func HopTag(k record.Key) string { return cleanTag("hop/" + k.String()) }

// InstanceTag names the histogram of the instances of a row.
func InstanceTag(k record.Key) string { return cleanTag("instance/" + k.String()) }
