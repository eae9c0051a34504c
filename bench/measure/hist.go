package measure

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
// own and Merge them at the end. NewHist makes one; the zero Hist is not usable.
//
// Nothing is dropped silently. A duration out of range is recorded at the range's end and counted as clipped. What the
// histogram refuses or loses in a merge is counted as dropped. Warnings reports both.
type Hist struct {
	h                *hdrhistogram.Histogram
	maxNS            int64 // exact; the histogram would round up
	clipped, dropped int64
}

// NewHist returns an empty histogram.
func NewHist() *Hist {
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

// WriteHLog writes histograms as a HdrHistogram log, version 1.3 with V2 encoding. Values are nanoseconds, the column of maxima
// milliseconds, as is customary. Comments are written first, one per line. The iterator may reuse memory between histograms;
// the first one's start is that of the log.
func WriteHLog(w io.Writer, comments []string, list iter.Seq[Tagged]) error {
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
