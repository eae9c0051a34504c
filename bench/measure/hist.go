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

// What a Hist can hold: from one nanosecond to one hour, to three significant digits.
const (
	histMinNS  int64 = 1
	histMaxNS  int64 = int64(time.Hour)
	histDigits       = 3
)

// Hist is a histogram of durations in nanoseconds. It is not safe for concurrent use: give each worker its own and Merge
// them at the end. The zero Hist is not usable; take NewHist. One holds about 280 KiB.
//
// Nothing is dropped in silence. A duration outside of the range is recorded at its end and counted as clipped; what the
// histogram refuses or loses in a merge is counted as dropped; Warnings tells of both.
type Hist struct {
	h                *hdrhistogram.Histogram
	maxNS            int64 // Exact, where the histogram would round up.
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

// Merge adds all that o holds, and its counts of what was clipped and dropped. It leaves o as it is.
func (h *Hist) Merge(o *Hist) {
	h.dropped += h.h.Merge(o.h) + o.dropped
	h.clipped += o.clipped
	h.maxNS = max(h.maxNS, o.maxNS)
}

// Count is how many durations are in the histogram.
func (h *Hist) Count() int64 { return h.h.TotalCount() }

// Clipped is how many durations lay outside of 1 ns … 1 h and were recorded at its end.
func (h *Hist) Clipped() int64 { return h.clipped }

// Dropped is how many durations are not in the histogram.
func (h *Hist) Dropped() int64 { return h.dropped }

// Warnings says what the percentiles do not show; nil when they show all.
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

// Percentiles returns the usual percentiles, or nil for an empty histogram. The maximum is exact, the others lie within
// 0.1 % above the true value.
func (h *Hist) Percentiles() *record.Percentiles {
	if h.Count() == 0 {
		return nil
	}
	return &record.Percentiles{P50: h.at(50), P99: h.at(99), P999: h.at(99.9), Max: h.maxNS}
}

// InstancePercentiles is Percentiles for latencies of instances, of which there are too few for a 99.9th percentile.
func (h *Hist) InstancePercentiles() *record.InstancePercentiles {
	if h.Count() == 0 {
		return nil
	}
	return &record.InstancePercentiles{P50: h.at(50), P99: h.at(99), Max: h.maxNS}
}

// at cuts at the maximum, which the histogram itself only knows rounded up.
func (h *Hist) at(percentile float64) int64 {
	return min(h.h.ValueAtPercentile(percentile), h.maxNS)
}

// Tagged is a histogram of one interval of time with its name in a log.
type Tagged struct {
	// Tag names it: "hop/fanout/push/100". Commas and white space, which a log cannot hold, become underscores.
	Tag        string
	Start, End time.Time
	Hist       *Hist
}

// WriteHLog writes histograms as a HdrHistogram log, version 1.3 with V2 encoding, which the tools of that project read.
// Values are nanoseconds, the column of maxima milliseconds as is the custom. Comments, such as how the values were
// measured, stand at its head, one line each. Only one of the histograms need be there at a time; the first one's start is that of
// the log.
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

// WritePercentiles writes a histogram as a percentile distribution (.hgrm), which the plotters of HdrHistogram read. Values
// are milliseconds.
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
