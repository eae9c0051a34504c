package simulate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pulley/reports/record"
)

// readMeasured reads what a run of the same workload on a server took; nil without --measured.
func (o *ForecastCmd) readMeasured() (*record.Measured, error) {
	if o.Measured == "" {
		return nil, nil
	}
	if o.mix == nil {
		return nil, errors.New("--measured: there are records of scenarios only, and of no generated trace; simulate a scenario, or leave it out")
	}
	scenario, size := o.mix.Name, o.mix.Size
	if _, err := os.Stat(filepath.Join(o.Measured, record.LoadFile)); err == nil {
		l, err := record.ReadLoad(filepath.Join(o.Measured, record.LoadFile))
		if err != nil {
			return nil, err
		}
		return o.measuredLoad(l, scenario, size)
	}
	s, err := record.ReadSummary(filepath.Join(o.Measured, record.SummaryFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--measured %s: there is no %s of pulley bench and no %s of pulley compare in it", o.Measured, record.LoadFile, record.SummaryFile)
	}
	if err != nil {
		return nil, err
	}
	return o.measuredRows(s, scenario, size)
}

func (o *ForecastCmd) measuredLoad(l *record.Load, scenario string, size int) (*record.Measured, error) {
	if l.Scenario != scenario || l.Size != size {
		return nil, o.otherWorkload(fmt.Sprintf("%s=%d", l.Scenario, l.Size), scenario, size)
	}
	m := &record.Measured{Dir: o.Measured, Command: l.Command, Tool: l.Tool.String(), Host: l.Host.Fingerprint(), Differs: []string{}}
	if n := l.Workers * l.Engines; n != o.Workers {
		m.Differs = append(m.Differs, fmt.Sprintf("%d workers there (%d engines with %d each), %d simulated", n, l.Engines, l.Workers, o.Workers))
	}
	if !sameArrivals(l.Arrivals, o.Arrivals) {
		m.Differs = append(m.Differs, fmt.Sprintf("arrivals %s there, %s simulated", l.Arrivals, orAll(o.Arrivals)))
	}
	if !l.Valid {
		m.Differs = append(m.Differs, "that run is not valid: its report says why")
	}
	t := l.LatencyNS
	m.Rows = []record.MeasuredTimes{{Name: l.Backend, Instances: t.Count, P50MS: inMilliseconds(t.P50), P90MS: inMilliseconds(t.P90), P99MS: inMilliseconds(t.P99), MaxMS: inMilliseconds(t.Max)}}
	return m, nil
}

// sameArrivals knows that a rate alone is one of random arrivals.
func sameArrivals(a, b string) bool {
	whole := func(text string) string {
		if text != "" && !strings.Contains(text, ":") {
			return "poisson:" + text
		}
		return text
	}
	return whole(a) == whole(b)
}

func orAll(arrivals string) string {
	if arrivals == "" {
		return "all at the start"
	}
	return arrivals
}

func (o *ForecastCmd) measuredRows(s *record.Summary, scenario string, size int) (*record.Measured, error) {
	m := &record.Measured{Dir: o.Measured, Differs: []string{}}
	if known, err := record.ReadManifest(filepath.Join(o.Measured, record.ManifestFile)); err == nil {
		m.Command, m.Tool, m.Host = known.Command, known.Tool.String(), known.Host.Fingerprint()
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	others := map[string]bool{}
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Scenario != scenario || r.Size != size {
			others[fmt.Sprintf("%s=%d", r.Scenario, r.Size)] = true
			continue
		}
		if !r.Valid || r.InstanceNS == nil {
			continue
		}
		name := r.Backend
		if r.Mode != "" {
			name += ", " + r.Mode
		}
		p := r.InstanceNS
		m.Rows = append(m.Rows, record.MeasuredTimes{Name: name, P50MS: inMilliseconds(&p.P50), P99MS: inMilliseconds(&p.P99), MaxMS: inMilliseconds(&p.Max)})
	}
	if len(m.Rows) == 0 {
		for other := range others {
			return nil, o.otherWorkload(other, scenario, size)
		}
		return nil, fmt.Errorf("--measured %s: no row of %s is valid", o.Measured, scenario)
	}
	m.Differs = append(m.Differs, "pulley compare keeps a number of instances open, one where it says alone; arrivals simulated: "+orAll(o.Arrivals))
	return m, nil
}

func (o *ForecastCmd) otherWorkload(got, scenario string, size int) error {
	return fmt.Errorf("--measured %s: it measured %s, and %s=%d is simulated; name a record of the same workload", o.Measured, got, scenario, size)
}

func inMilliseconds(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	ms := float64(*ns) / 1e6
	return &ms
}
