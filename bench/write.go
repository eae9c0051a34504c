package bench

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"pulley/bench/histogram"
	"pulley/bench/load"
	"pulley/reports/record"
)

// Write writes manifest.json, summary.json, samples.ndjson and the histograms into a directory, which it creates if needed.
// Each file appears whole or not at all.
func (c *Comparison) Write(dir string) error {
	if err := record.WriteManifest(dir, c.Manifest); err != nil {
		return err
	}
	if err := record.WriteSummary(dir, c.Summary); err != nil {
		return err
	}
	if err := record.WriteSamples(dir, c.Manifest.Samples); err != nil {
		return err
	}
	for name, hists := range map[string][]histogram.Tagged{record.HopFile: c.hops, record.InstanceFile: c.spans} {
		err := record.WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			return histogram.WriteLog(w, nil, slices.Values(hists))
		})
		if err != nil {
			return err
		}
	}
	return c.writeProfiles(dir)
}

const profilePattern = "cpu-*.pb.gz"

// Files of an earlier comparison are removed.
func (c *Comparison) writeProfiles(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, profilePattern))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for key, p := range c.profiles {
		name := strings.Replace(profilePattern, "*", strings.NewReplacer("/", "-", ":", "-", "=", "-", " ", "-").Replace(key.String()), 1)
		if err := record.WriteFile(filepath.Join(dir, name), p.Write); err != nil {
			return err
		}
	}
	return nil
}

// Valid reports whether every run was valid.
func (c *Comparison) Valid() bool {
	return !slices.ContainsFunc(c.Manifest.Samples, func(s record.Sample) bool { return !s.Valid })
}

// Names of the histograms of a run under load.
const (
	LoadLogFile      = "load.hlog"
	LatencyTableFile = "latency.hgrm"
	ServiceTableFile = "service.hgrm"
)

// LoadFiles lists what Write writes.
func LoadFiles() []string {
	return []string{record.LoadFile, LoadLogFile, LatencyTableFile, ServiceTableFile}
}

// Write writes load.json and the histograms of latency and service time into a directory, which it creates if needed. load.hlog
// has both for each interval of the whole run, tagged latency and service, by intended time; latency.hgrm and service.hgrm are
// of the measured phase. Each file appears whole or not at all.
func (r *OpenResult) Write(dir string) error {
	if err := record.WriteLoad(dir, r.Load); err != nil {
		return err
	}
	write := func(name string, write func(io.Writer) error) error {
		return record.WriteFile(filepath.Join(dir, name), write)
	}
	comments := []string{fmt.Sprintf("%s %d on %s, %s. Instances are in the interval of their intended time.", r.Scenario, r.Size, r.Backend, r.Arrivals),
		"latency counts from the intended time, service from the sending. Instances that did not end are missing."}
	if err := write(LoadLogFile, func(w io.Writer) error { return histogram.WriteLog(w, comments, r.histograms()) }); err != nil {
		return err
	}
	measured := time.Duration(r.Phases.WarmUpNS)
	latency, service := histogramsOf(r.Requests, measured, time.Duration(r.Phases.MeasureNS))
	if err := write(LatencyTableFile, func(w io.Writer) error { return histogram.WritePercentiles(w, latency) }); err != nil {
		return err
	}
	return write(ServiceTableFile, func(w io.Writer) error { return histogram.WritePercentiles(w, service) })
}

func (r *OpenResult) histograms() iter.Seq[histogram.Tagged] {
	return func(yield func(histogram.Tagged) bool) {
		for _, v := range r.Intervals {
			from, to := time.Duration(v.FromNS), time.Duration(v.ToNS)
			latency, service := histogramsOf(r.Requests, from, to)
			start, end := r.StartedAt.Add(from), r.StartedAt.Add(to)
			if !yield(histogram.Tagged{Tag: "latency", Start: start, End: end, Hist: latency}) || !yield(histogram.Tagged{Tag: "service", Start: start, End: end, Hist: service}) {
				return
			}
		}
	}
}

// histogramsOf uses the requests intended in [from, to); requests are in order.
func histogramsOf(requests []load.Request, from, to time.Duration) (latency, service *histogram.Hist) {
	latency, service = histogram.New(), histogram.New()
	first := sort.Search(len(requests), func(i int) bool { return requests[i].Intended >= from })
	for i := first; i < len(requests) && requests[i].Intended < to; i++ {
		if q := &requests[i]; q.Ended > 0 {
			latency.Record(q.Ended - q.Intended)
			service.Record(q.Ended - q.Sent)
		}
	}
	return latency, service
}
