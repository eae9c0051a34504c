package gate

import (
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"pulley/bench/stats"
	"pulley/internal/cause"
	"pulley/reports/record"
)

// Run is a run's record: its manifest with samples.
type Run struct {
	Dir      string
	Manifest *record.Manifest
}

const recordsMax = 2000

// ReadRuns reads all records below dir, ordered by time. It returns ErrNothing if there is none.
func ReadRuns(dir string) ([]Run, error) {
	var runs []Run
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return readingError(path, err)
		case d.IsDir() || d.Name() != record.ManifestFile:
			return nil
		case len(runs) == recordsMax:
			return fmt.Errorf("read %s: more than %d records; name a directory with fewer", dir, recordsMax)
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
	return fmt.Errorf("read %s: %w", path, cause.Of(err))
}

// The figures of a record, by display name.
const (
	FigureTime    = "time/node"
	FigureCPU     = "CPU/node"
	FigureP99     = "instance p99"
	FigureRows    = "rows read/node"
	FigureStmts   = "statements/node"
	FigureCommits = "commits/node"
	FigureWAL     = "WAL/node"
)

type figure struct {
	name string
	unit string
	kind Kind
	tail bool
	get  func(*record.Sample) (float64, bool)
	// with many completions in flight it depends on how many share a commit
	batched bool
	// never exact
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

// cpuPerNode is of the engines' process and, if seen, of the server.
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
		return 0, false // an unseen server worked for it
	}
	return float64(used) / 1e9 / float64(n), true
}

// p99Needs is the least number of instances for a 99th percentile.
const p99Needs = 400

func instanceP99(s *record.Sample) (float64, bool) {
	if len(s.InstanceNS) < p99Needs {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(s.InstanceNS))
	return float64(sorted[int(math.Ceil(0.99*float64(len(sorted))))-1]) / 1e9, true
}

// FromRuns makes a side of records. Every valid sample is a run.
func FromRuns(name string, runs []Run) Side { return recordSide(name, 0, runs) }

// FromPairs makes two sides of records that were neighbours in time, before[i] of after[i]. Of several samples of a row, the
// least of a timed figure and the median of a counted one are used. A pair without a figure on one side does not count for it.
func FromPairs(baseline, candidate string, before, after []Run) (Side, Side) {
	return recordSide(baseline, len(before), before), recordSide(candidate, len(after), after)
}

func recordSide(name string, turns int, runs []Run) Side {
	c, out := newCollector(turns), Side{Name: name}
	for turn, r := range runs {
		for i := range r.Manifest.Samples {
			s := &r.Manifest.Samples[i]
			if !s.Valid {
				out.Invalid = append(out.Invalid, invalid(s))
				continue
			}
			c.addSample(turn, machineOf(r.Manifest), s)
		}
	}
	out.Series = c.all()
	return out
}

func invalid(s *record.Sample) string {
	why := "no reason is recorded"
	if len(s.Warnings) > 0 {
		why = s.Warnings[len(s.Warnings)-1]
	}
	return fmt.Sprintf("%s, run %d: %s", RowName(s), s.Run, why)
}

func (c *collector) addSample(turn int, machine string, s *record.Sample) {
	row, alone := RowName(s), s.Mode == record.ModeAlone || s.Mode == "" && s.InFlight <= 1
	for _, f := range figures {
		v, ok := f.get(s)
		if !ok || !isFinite(v) || v < 0 {
			continue
		}
		x := Series{Key: Key{row, f.name}, Unit: f.unit, Kind: f.kind, Tail: f.tail, Jitters: f.jitters || !alone && f.kind == Counted, Machine: machine}
		if f.batched && !alone {
			x.Kind = Batched
		}
		c.add(turn, x, v)
	}
}

// RowName names the row of a sample: "fanout 100, push, saturated".
func RowName(s *record.Sample) string {
	parts := []string{fmt.Sprintf("%s %d", s.Scenario, s.Size), s.Backend}
	if s.Mode != "" {
		parts = append(parts, s.Mode)
	}
	return strings.Join(parts, ", ")
}

// machineOf identifies what a record's times depend on besides the program: the machine, the server's version and its
// durability settings. Empty: unknown.
func machineOf(m *record.Manifest) string {
	text := m.Host.Fingerprint()
	if p := m.Postgres; p != nil && text != "" {
		text += fmt.Sprintf("; Postgres %d", p.VersionNum)
		for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			text += fmt.Sprintf(", %s %s", name, p.Setting(name))
		}
	}
	return text
}
