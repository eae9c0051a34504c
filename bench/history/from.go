package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/bench/gobench"
	"pulley/bench/stats"
	"pulley/internal/plural"
	"pulley/reports/record"
)

// FromRecord makes a run of each valid row of a comparison. left names the omitted rows with the reason.
func FromRecord(s *record.Summary, m *record.Manifest) (runs []Run, left []string) {
	for i := range s.Rows {
		row := &s.Rows[i]
		if !row.Valid {
			left = append(left, fmt.Sprintf("%s: was not valid, and decides nothing", row.Key()))
			continue
		}
		figures := rowFigures(row)
		if len(figures) == 0 {
			left = append(left, fmt.Sprintf("%s: has no figures", row.Key()))
			continue
		}
		r := Run{
			Time: m.StartedAt, Revision: m.Tool.Revision, Modified: m.Tool.Modified,
			Host: m.Host, Scenario: row.Scenario, Design: row.Backend, Size: row.Size, Mode: row.Mode,
			Load: loadOf(row.Key(), m.Samples), Repetitions: max(row.Runs, 1), Figures: figures,
		}
		if row.CommitsPerNode != nil || row.StatementsPerNode != nil || row.RowsReadPerNode != nil { // a server was used
			r.Server = serverOf(m.Postgres)
		}
		runs = append(runs, r)
	}
	return runs, left
}

func rowFigures(row *record.Row) []Figure {
	var out []Figure
	add := func(name, better string, value float64) { out = append(out, Figure{name, value, better}) }
	if row.NodesPerS != nil {
		add("nodes_per_s", higher, row.NodesPerS.Median)
	}
	if h := row.HopNS; h != nil {
		add("hop_p50_ns", lower, float64(h.P50))
		add("hop_p99_ns", lower, float64(h.P99))
	}
	if h := row.InstanceNS; h != nil {
		add("instance_p50_ns", lower, float64(h.P50))
		add("instance_p99_ns", lower, float64(h.P99))
	}
	for _, c := range []struct {
		name  string
		value *float64
	}{
		{record.FigureRowsRead, row.RowsReadPerNode}, {record.FigureStatements, row.StatementsPerNode},
		{record.FigureCommits, row.CommitsPerNode}, {record.FigureWALBytes, row.WALBytesPerNode},
	} {
		if c.value != nil {
			add(c.name, lower, *c.value)
		}
	}
	return out
}

// Empty if the record does not tell.
func loadOf(key record.Key, samples []record.Sample) string {
	i := slices.IndexFunc(samples, func(s record.Sample) bool { return s.Key() == key })
	if i < 0 || samples[i].InFlight == 0 {
		return ""
	}
	s := samples[i]
	text := fmt.Sprintf("%d in flight, %s", s.InFlight, plural.Of(s.Workers, "worker"))
	if s.Engines > 1 {
		text += fmt.Sprintf(", %d engines", s.Engines)
	}
	return text
}

// serverOf names what affects figures most: the server's major version, and whether it is durable.
func serverOf(p *record.Postgres) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("Postgres %d", p.VersionNum/10000)
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if v := p.Setting(name); v != "" && v != "on" {
			text += fmt.Sprintf(", %s=%s", name, v)
		}
	}
	return text
}

// BenchOrigin is what a benchmark's file lacks.
type BenchOrigin struct {
	// when the file was made
	Time time.Time
	// the measured commit, for a file without a line "commit: …"
	Revision string
}

// FromGoBench makes a run of each benchmark in a file: each figure is the median over the lines of its name. It fails if the
// file has results of several commits, which have no common median.
func FromGoBench(f *gobench.File, origin BenchOrigin) ([]Run, error) {
	if slices.Contains(f.Mixed, "commit") {
		return nil, errors.New("there are results of several commits in it; add those of each commit as a file of its own")
	}
	var runs []Run
	place := map[gobench.Key]int{}
	for _, s := range f.Series {
		key := s.Key
		key.Unit = ""
		i, ok := place[key]
		if !ok {
			i = len(runs)
			place[key] = i
			runs = append(runs, Run{
				Time: origin.Time, Revision: cmp.Or(f.Config["commit"], origin.Revision),
				Host:     record.Host{OS: key.Machine.OS, Arch: key.Machine.Arch, CPU: key.Machine.CPU},
				Scenario: strings.TrimSpace(key.String()),
			})
		}
		r := &runs[i]
		r.Repetitions = max(r.Repetitions, len(s.Values))
		better := map[gobench.Better]string{gobench.BetterHigher: higher, gobench.BetterLower: lower}[s.Better]
		r.Figures = append(r.Figures, Figure{s.Unit, stats.Median(s.Values), better})
	}
	return runs, nil
}
