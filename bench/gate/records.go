package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"pulley/bench/stats"
	"pulley/reports/record"
)

// Run is one run's record: how it was made, with its samples.
type Run struct {
	// Dir is where it was found.
	Dir      string
	Manifest *record.Manifest
}

// recordsMost bounds how many records are read below one directory.
const recordsMost = 2000

// ReadRuns reads all records below dir, in the order of their times. It is ErrNothing where there is none.
func ReadRuns(dir string) ([]Run, error) {
	var runs []Run
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return readingError(path, err)
		case d.IsDir() || d.Name() != record.ManifestFile:
			return nil
		case len(runs) == recordsMost:
			return fmt.Errorf("read %s: more than %d records; name a directory with fewer", dir, recordsMost)
		}
		m, err := record.ReadManifest(path)
		if err != nil {
			return err
		}
		runs = append(runs, Run{filepath.Dir(path), m})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("read %s: %w: no %s, which pulley compare writes, below it", dir, ErrNothing, record.ManifestFile)
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Manifest.StartedAt.Compare(b.Manifest.StartedAt) })
	return runs, nil
}

func readingError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// The figures of a record, by the names under which they are shown.
const (
	FigureTime    = "time/node"
	FigureCPU     = "CPU/node"
	FigureP99     = "instance p99"
	FigureRows    = "rows read/node"
	FigureStmts   = "statements/node"
	FigureCommits = "commits/node"
	FigureWAL     = "WAL/node"
)

// figure is one that samples have.
type figure struct {
	name string
	unit string
	kind Kind
	tail bool
	get  func(*record.Sample) (float64, bool)
	// batched says that with many completions in flight the figure depends on how many share a commit.
	batched bool
	// jitters says that the figure is never exact.
	jitters bool
}

var figures = []figure{
	{name: FigureTime, unit: UnitSeconds, get: timePerNode},
	{name: FigureCPU, unit: UnitSeconds, get: cpuPerNode},
	{name: FigureP99, unit: UnitSeconds, tail: true, get: instanceP99},
	{name: FigureRows, kind: Counted, get: counter(stats.RowsRead)},
	{name: FigureStmts, kind: Counted, batched: true, get: counter(stats.Statements)},
	{name: FigureCommits, kind: Counted, batched: true, get: counter(stats.Commits)},
	{name: FigureWAL, unit: UnitBytes, kind: Counted, jitters: true, get: counter(stats.WALBytes)},
}

func counter(c stats.Counter) func(*record.Sample) (float64, bool) {
	return func(s *record.Sample) (float64, bool) { return c.PerNode(*s) }
}

func timePerNode(s *record.Sample) (float64, bool) {
	n := s.NodeRuns()
	return float64(s.ElapsedNS) / 1e9 / float64(max(n, 1)), n > 0 && s.ElapsedNS > 0
}

// cpuPerNode is the processor time of the engines' process and, where it was seen, of the server.
func cpuPerNode(s *record.Sample) (float64, bool) {
	n := s.NodeRuns()
	if s.CPU == nil || n == 0 || s.CPU.ProcessNS <= 0 {
		return 0, false
	}
	used := s.CPU.ProcessNS
	switch {
	case s.CPU.ServerNS != nil:
		used += *s.CPU.ServerNS
	case s.Counters != nil:
		return 0, false // a server worked for it that was not seen
	}
	return float64(used) / 1e9 / float64(n), true
}

// p99Needs is how many instances a run has at least for a 99th percentile.
const p99Needs = 400

func instanceP99(s *record.Sample) (float64, bool) {
	if len(s.InstanceNS) < p99Needs {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(s.InstanceNS))
	return float64(sorted[int(math.Ceil(0.99*float64(len(sorted))))-1]) / 1e9, true
}

// FromRuns makes a side of records. Every valid sample is a run.
func FromRuns(name string, runs []Run) Side {
	b := newBuilder(name)
	for _, r := range runs {
		for i := range r.Manifest.Samples {
			b.add(r.Manifest, &r.Manifest.Samples[i], false)
		}
	}
	return b.side()
}

// FromPairs makes two sides of records that were neighbours in time, before[i] of after[i]. Of a record with several samples of a
// row, the least of a timed figure counts, and the median of a counted one: whatever else goes on makes a program slower and never
// faster, so that the least is the one that it disturbed least. (Chen and Revels, Robust benchmarking in noisy environments, 2016.) Where a
// figure is not in both, the pair does not count for it.
func FromPairs(baseline, candidate string, before, after []Run) (Side, Side) {
	sides := [2]Side{}
	for i, runs := range [][]Run{before, after} {
		b := newBuilder([]string{baseline, candidate}[i])
		for n, r := range runs {
			b.turn = n
			for k := range r.Manifest.Samples {
				b.add(r.Manifest, &r.Manifest.Samples[k], true)
			}
		}
		sides[i] = b.side()
	}
	equalize(&sides[0], &sides[1])
	return sides[0], sides[1]
}

// equalize makes the series of both sides as long as each other, with NaN for what is missing.
func equalize(a, b *Side) {
	for _, s := range []*Side{a, b} {
		for i := range s.Series {
			values := s.Series[i].Values
			other := b
			if s == b {
				other = a
			}
			for _, o := range other.Series {
				if o.Key == s.Series[i].Key {
					for len(values) < len(o.Values) {
						values = append(values, math.NaN())
					}
				}
			}
			s.Series[i].Values = values
		}
	}
}

// builder collects the series of a side.
type builder struct {
	name    string
	turn    int
	order   []Key
	series  map[Key]*Series
	turns   map[Key]map[int][]float64
	invalid []string
}

func newBuilder(name string) *builder {
	return &builder{name: name, series: map[Key]*Series{}, turns: map[Key]map[int][]float64{}}
}

// add takes the figures of a sample. paired says that values belong to a turn, and are not runs of their own.
func (b *builder) add(m *record.Manifest, s *record.Sample, paired bool) {
	row := RowName(s)
	if !s.Valid {
		why := "no reason is recorded"
		if len(s.Warnings) > 0 {
			why = s.Warnings[len(s.Warnings)-1]
		}
		b.invalid = append(b.invalid, fmt.Sprintf("%s, run %d: %s", row, s.Run, why))
		return
	}
	alone := s.Mode == record.ModeAlone || s.Mode == "" && s.InFlight <= 1
	for _, f := range figures {
		v, ok := f.get(s)
		if !ok || !isFinite(v) || v < 0 {
			continue
		}
		key := Key{row, f.name}
		x := b.series[key]
		if x == nil {
			x = &Series{Key: key, Unit: f.unit, Kind: f.kind, Tail: f.tail, Jitters: f.jitters || !alone && f.kind == Counted, Machine: Machine(m)}
			if f.batched && !alone {
				x.Kind = Batched
			}
			b.series[key], b.order = x, append(b.order, key)
			b.turns[key] = map[int][]float64{}
		}
		if x.Machine != Machine(m) {
			x.Machine = "" // several
		}
		if paired {
			b.turns[key][b.turn] = append(b.turns[key][b.turn], v)
		} else {
			x.Values = append(x.Values, v)
		}
	}
}

func (b *builder) side() Side {
	out := Side{Name: b.name, Invalid: b.invalid}
	for _, key := range b.order {
		x := b.series[key]
		if turns := b.turns[key]; len(turns) > 0 {
			x.Values = make([]float64, b.turn+1)
			for i := range x.Values {
				x.Values[i] = math.NaN()
				if len(turns[i]) > 0 {
					x.Values[i] = ofTurn(x, turns[i])
				}
			}
		}
		out.Series = append(out.Series, *x)
	}
	return out
}

// RowName names the row of a sample: "fanout 100, push, saturated".
func RowName(s *record.Sample) string {
	parts := []string{fmt.Sprintf("%s %d", s.Scenario, s.Size), s.Backend}
	if s.Mode != "" {
		parts = append(parts, s.Mode)
	}
	return strings.Join(parts, ", ")
}

// Machine identifies what times of a record depend on besides the program: the machine, the server's version and its settings of
// durability. Empty: the record does not tell.
func Machine(m *record.Manifest) string {
	h := m.Host
	if h == (record.Host{}) {
		return ""
	}
	text := fmt.Sprintf("%s/%s, %s, %d cores, %d GiB", h.OS, h.Arch, h.CPU, h.Cores, h.MemoryBytes>>30)
	if p := m.Postgres; p != nil {
		text += fmt.Sprintf("; Postgres %d", p.VersionNum)
		for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			text += fmt.Sprintf(", %s %s", name, p.Setting(name))
		}
	}
	return text
}
