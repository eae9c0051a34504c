package race

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"pulley/bench/peers/peer"
	"pulley/bench/stats"
	"pulley/reports/record"
)

// Schema is the record's version. Removing a field or changing its meaning makes a new one.
const Schema = 1

// Record is the result of a race. Names end with units; an unmeasured figure is null, and warnings say why.
type Record struct {
	Schema      int              `json:"schema"`
	Command     []string         `json:"command"`
	Tool        record.Tool      `json:"tool"`
	Host        record.Host      `json:"host"`
	Postgres    *record.Postgres `json:"postgres"`
	StartedAt   time.Time        `json:"started_at"`
	EndedAt     time.Time        `json:"ended_at"`
	Interrupted bool             `json:"interrupted"`

	Runs         int    `json:"runs"`
	InFlight     int    `json:"in_flight"`
	RunForNS     int64  `json:"run_for_ns"`
	Order        string `json:"order"`
	PayloadBytes int    `json:"payload_bytes"`

	Workloads []peer.Workload `json:"workloads"`
	Systems   []System        `json:"systems"`
	Methods   []record.Method `json:"methods"`
	Samples   []Sample        `json:"samples"`
	Rows      []Row           `json:"rows"`
	Ratios    []Ratio         `json:"ratios"`
	Warnings  []string        `json:"warnings"`
}

// System is one raced system.
type System struct {
	Name     string   `json:"name"` // as in the spec
	Title    string   `json:"title"`
	Ours     bool     `json:"ours"`
	Store    string   `json:"store"`
	Versions []Module `json:"versions"`

	// Settings are by workload. Notes describe each workload for the system, those under "" all; NotRun is why one was not run.
	Settings map[string]peer.Options `json:"settings"`
	Notes    map[string]string       `json:"notes"`
	NotRun   map[string]string       `json:"not_run"`
}

// Module is a Go module with its version.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Sample is one run.
type Sample struct {
	System    string       `json:"system"`
	Workload  string       `json:"workload"`
	Settings  peer.Options `json:"settings"`
	Run       int          `json:"run"`   // from 1
	Order     int          `json:"order"` // in the whole race, from 1
	StartedAt time.Time    `json:"started_at"`

	Instances        int     `json:"instances"` // timed ones
	WarmUpInstances  int     `json:"warm_up_instances"`
	TasksPerInstance int     `json:"tasks_per_instance"`
	InFlight         int     `json:"in_flight"`
	ElapsedNS        int64   `json:"elapsed_ns"`
	TasksPerS        float64 `json:"tasks_per_s"`
	InstancesPerS    float64 `json:"instances_per_s"`

	// LatencyNS is from submission to end.
	LatencyNS *record.Percentiles `json:"latency_ns"`

	Commits         *int64   `json:"commits"`
	Rollbacks       *int64   `json:"rollbacks"`
	WALBytes        *int64   `json:"wal_bytes"`
	CommitsPerTask  *float64 `json:"commits_per_task"`
	WALBytesPerTask *float64 `json:"wal_bytes_per_task"`

	Repeats  int      `json:"repeats"` // repeated task runs
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings"`
}

func (s *Sample) fillRates() {
	seconds := float64(s.ElapsedNS) / float64(time.Second)
	s.InstancesPerS = float64(s.Instances) / seconds
	s.TasksPerS = s.InstancesPerS * float64(s.TasksPerInstance)
	if s.Repeats > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d tasks ran again", s.Repeats))
	}
}

func (s *Sample) fillCosts(c counters) {
	tasks := float64(s.Instances+s.WarmUpInstances) * float64(s.TasksPerInstance)
	commits := max(c.commits-c.sessions, 0)
	perTask, bytes := float64(commits)/tasks, float64(c.walBytes)/tasks
	s.Commits, s.Rollbacks, s.WALBytes, s.CommitsPerTask, s.WALBytesPerTask = &commits, &c.rollbacks, &c.walBytes, &perTask, &bytes
	if c.checkpoints > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d checkpoints during the run: pages touched after it were written to the WAL whole", c.checkpoints))
	}
}

func (s *Sample) line() string {
	if !s.Valid {
		return fmt.Sprintf("%s on %s, run %d: INVALID: %s", s.Workload, s.System, s.Run, s.Warnings[0])
	}
	text := fmt.Sprintf("%s on %s, run %d: %.0f tasks/s, %d instances, %d in flight", s.Workload, s.System, s.Run, s.TasksPerS, s.Instances, s.InFlight)
	if s.LatencyNS != nil {
		text += fmt.Sprintf(", p50 %s ms", milliseconds(s.LatencyNS.P50))
	}
	return text
}

// Row is the medians over the valid runs of one workload on one system.
type Row struct {
	System   string `json:"system"`
	Workload string `json:"workload"`
	Runs     int    `json:"runs"` // valid ones
	Invalid  int    `json:"invalid"`
	InFlight int    `json:"in_flight"`

	// The spread is from the least to the greatest rate of the runs.
	TasksPerS       *float64 `json:"tasks_per_s"`
	TasksPerSLeast  *float64 `json:"tasks_per_s_least"`
	TasksPerSMost   *float64 `json:"tasks_per_s_most"`
	LatencyP50NS    *float64 `json:"latency_p50_ns"`
	LatencyP99NS    *float64 `json:"latency_p99_ns"`
	CommitsPerTask  *float64 `json:"commits_per_task"`
	WALBytesPerTask *float64 `json:"wal_bytes_per_task"`
}

func (r *Record) finish() {
	r.Rows, r.Ratios = []Row{}, []Ratio{}
	for _, w := range r.Workloads {
		for _, s := range r.Systems {
			if row, ok := r.row(w.Name, s.Name); ok {
				r.Rows = append(r.Rows, row)
			}
		}
	}
	r.Ratios = append(r.Ratios, ratios(r)...)
}

func (r *Record) row(workload, system string) (Row, bool) {
	row := Row{System: system, Workload: workload}
	var rates, p50, p99, commits, wal []float64
	for _, s := range r.Samples {
		switch {
		case s.Workload != workload || s.System != system:
			continue
		case !s.Valid:
			row.Invalid++
			continue
		}
		row.Runs++
		row.InFlight = s.InFlight
		rates = append(rates, s.TasksPerS)
		if s.LatencyNS != nil {
			p50, p99 = append(p50, float64(s.LatencyNS.P50)), append(p99, float64(s.LatencyNS.P99))
		}
		if s.CommitsPerTask != nil {
			commits, wal = append(commits, *s.CommitsPerTask), append(wal, *s.WALBytesPerTask)
		}
	}
	if row.Runs > 0 {
		least, most := slices.Min(rates), slices.Max(rates)
		row.TasksPerSLeast, row.TasksPerSMost = &least, &most
	}
	row.TasksPerS, row.LatencyP50NS, row.LatencyP99NS = median(rates), median(p50), median(p99)
	row.CommitsPerTask, row.WALBytesPerTask = median(commits), median(wal)
	return row, row.Runs+row.Invalid > 0
}

func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := stats.Median(values)
	return &m
}

// Valid reports whether every run is valid.
func (r *Record) Valid() bool {
	return !slices.ContainsFunc(r.Samples, func(s Sample) bool { return !s.Valid })
}

// Write writes the record as JSON, whole or not at all.
func (r *Record) Write(path string) error {
	return record.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	})
}

func describe(e peer.Entry, workloads []peer.Workload) System {
	s := System{
		Name: e.Text, Title: e.Adapter.Title, Ours: slices.Contains(e.Adapter.Modules, peer.OurModule), Store: e.Adapter.Store,
		Versions: versions(e.Adapter.Modules), Settings: map[string]peer.Options{}, Notes: map[string]string{}, NotRun: map[string]string{},
	}
	if s.Store == "" {
		s.Store = "the race's Postgres"
	}
	for _, w := range workloads {
		if ok, why := e.Runs(w); !ok {
			s.NotRun[w.Name] = why
			continue
		}
		s.Settings[w.Name] = e.OptionsFor(w)
		if note := e.Adapter.Notes[w.Name]; note != "" {
			s.Notes[w.Name] = note
		}
	}
	if note := e.Adapter.Notes[""]; note != "" {
		s.Notes[""] = note
	}
	return s
}

func versions(paths []string) []Module {
	out := []Module{}
	info, ok := debug.ReadBuildInfo()
	for _, path := range paths {
		m := Module{Path: path, Version: "(unknown)"}
		if ok {
			for _, dep := range append(info.Deps, &info.Main) {
				switch {
				case dep.Path != path:
				case dep.Replace != nil:
					m.Version = "(this tree)"
				default:
					m.Version = dep.Version
				}
			}
		}
		out = append(out, m)
	}
	return out
}

// methods describe how each figure is measured.
func methods() []record.Method {
	return []record.Method{
		{Figure: "tasks_per_s", Text: "tasks of the timed instances, divided by the wall time from the first submission to the last end of one; new databases, new sessions and a warm-up in every run. Median over the valid runs."},
		{Figure: "latency_ns", Text: "from the call that submits an instance, or the batch that it is in, to the moment when the client receives its durable end, in the client's process. Percentiles of each run; the median of those over the valid runs."},
		{Figure: "commits_per_task", Text: "xact_commit of pg_stat_database over all databases of the system, without the one that Postgres counts for the opening of a session, from before the system was opened until after it was closed, divided by all tasks, those of the warm-up included. Transactions that only read are in it. Median over the valid runs."},
		{Figure: "wal_bytes_per_task", Text: "distance between pg_current_wal_insert_lsn at the same two moments, divided likewise. This is of the whole server, and includes full-page images after a checkpoint. Median over the valid runs."},
		{Figure: "ratios", Text: "of runs with the same number, which were neighbours in time; the median of the ratios, and their range."},
		{Figure: "valid", Text: "every instance ended once, with the right result, and every task of it ran; the run ended in time."},
	}
}
