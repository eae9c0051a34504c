package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Manifest is the content of manifest.json: how a run was made, in enough detail to repeat it.
type Manifest struct {
	// set by WriteManifest
	Schema int `json:"schema"`
	// without passwords
	Command []string `json:"command"`
	Tool    Tool     `json:"tool"`
	Host    Host     `json:"host"`
	// null if no backend needed a server
	Postgres *Postgres `json:"postgres"`

	// of all randomness
	Seed uint64 `json:"seed"`
	// as requested, in order
	Scenarios []string `json:"scenarios"`
	Sizes     []int    `json:"sizes"`
	Backends  []string `json:"backends"`
	// those of Backends that are systems behind adapters; omitted without any
	Systems []System `json:"systems,omitempty"`
	// requested repetitions
	Runs int `json:"runs"`
	// interleaving of the backends' runs: "ABBA"
	Order string `json:"order"`
	// The seed means nothing after a generator has changed, so the workloads are here.
	Cases []Case `json:"cases"`

	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// the run ended early and is partial
	Interrupted bool `json:"interrupted"`

	Methods []Method `json:"methods"`
	// raw figures of every run, in order of execution
	Samples []Sample `json:"samples"`
	// on the whole run
	Warnings []string `json:"warnings"`
}

// System is a system behind an adapter, as it was measured.
type System struct {
	// Name is that of its rows, System its own
	Name    string `json:"name"`
	System  string `json:"system"`
	Version string `json:"version"`
	// the adapter's
	Command []string `json:"command"`
	// by the name: the value of all runs, where no run of Chosen has another
	Settings map[string]string `json:"settings"`
	// what the search found to be fastest, by case and mode; null if nothing was searched
	Chosen []Choice `json:"chosen"`
	// pages of its documentation
	Documentation []string `json:"documentation"`
}

// Choice is what a search chose for the runs of a case in a mode.
type Choice struct {
	Scenario string `json:"scenario"`
	Size     int    `json:"size"`
	Mode     string `json:"mode"`
	// tasks that a process executes at once
	Slots int `json:"slots"`
	// that differ from the system's
	Settings map[string]string `json:"settings"`
	// runs of the search, and how many nodes per second the best had
	Tried     int     `json:"tried"`
	NodesPerS float64 `json:"nodes_per_s"`
}

// Tool is the program that measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// the commit it was built from; empty if unknown
	Revision string `json:"revision"`
	// the source differed from Revision
	Modified bool `json:"modified"`
	// the toolchain's version
	Go string `json:"go"`
}

// String is the tool with what identifies its build.
func (t Tool) String() string {
	if t.Name == "" {
		return "pulley"
	}
	text := t.Name + " " + t.Version
	if t.Revision != "" {
		revision := t.Revision
		if len(revision) > 12 {
			revision = revision[:11] + "…"
		}
		text += ", revision " + revision
		if t.Modified {
			text += " with changes"
		}
	}
	if t.Go != "" {
		text += ", " + t.Go
	}
	return text
}

// Host is the measuring machine, also the server's unless a warning says otherwise.
type Host struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// the processor's name; empty if unknown
	CPU string `json:"cpu"`
	// usable by the program
	Cores int `json:"cores"`
	// 0 if unknown
	MemoryBytes int64 `json:"memory_bytes"`
}

// Fingerprint names what distinguishes machines; empty for none. Memory is in GiB, since the kernel's own share varies a
// little.
func (h Host) Fingerprint() string {
	if h == (Host{}) {
		return ""
	}
	parts := []string{h.OS + "/" + h.Arch}
	if h.CPU != "" {
		parts = append(parts, strings.Join(strings.Fields(h.CPU), " "))
	}
	switch {
	case h.Cores == 1:
		parts = append(parts, "1 core")
	case h.Cores > 1:
		parts = append(parts, fmt.Sprintf("%d cores", h.Cores))
	}
	if h.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GiB", float64(h.MemoryBytes)/(1<<30)))
	}
	return strings.Join(parts, ", ")
}

// Postgres is the measured server.
type Postgres struct {
	// Way is how the server was obtained: given by a DSN, started from local binaries, in a container, or downloaded.
	Way string `json:"way"`
	// the server's; the number is 150018 for 15.18
	Version    string `json:"version"`
	VersionNum int    `json:"version_num"`
	// for durability and speed
	Settings []Setting `json:"settings"`
}

// Setting is one server setting. Value has its unit, as in SHOW.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Setting returns the named setting, or "" if not recorded.
func (p *Postgres) Setting(name string) string {
	if p == nil {
		return ""
	}
	for _, s := range p.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Case is one workload: a program, its input and its expected result.
type Case struct {
	Scenario string `json:"scenario"`
	Size     int    `json:"size"`
	// node runs of an instance
	Nodes int `json:"nodes"`
	// the workflow's text; empty if Source names its origin
	Program string `json:"program,omitempty"`
	// the case's file, with an identification of its content
	Source string `json:"source,omitempty"`
	// Input is main's; Want is required of every run.
	Input json.RawMessage `json:"input,omitempty"`
	Want  json.RawMessage `json:"want,omitempty"`
	// Graph outlines the compiled workflow; omitted before version 9.
	Graph *Graph `json:"graph,omitempty"`
}

// Method describes how one figure was measured.
type Method struct {
	// its name in the files: "rows_read_per_node"
	Figure string `json:"figure"`
	// the measurement and its limits
	Text string `json:"text"`
}

// Sample is the raw result of one run: one scenario at one size on one backend in one mode.
type Sample struct {
	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Size     int    `json:"size"`
	// a Mode constant; empty before version 5
	Mode string `json:"mode"`
	// Run is the repetition, from 1. Equally numbered runs of different backends were neighbours in time.
	Run int `json:"run"`
	// in the whole sequence, from 1
	Order     int       `json:"order"`
	StartedAt time.Time `json:"started_at"`
	// ElapsedNS is the wall time from the first submission to the last committed end.
	ElapsedNS int64 `json:"elapsed_ns"`
	// Instances have ended; Nodes is the mean number of node runs of one. NodeRunsTotal is omitted unless instances differ: it
	// is Instances × Nodes.
	Instances     int     `json:"instances"`
	Nodes         int     `json:"nodes"`
	NodeRunsTotal int     `json:"node_runs_total,omitempty"`
	NodesPerS     float64 `json:"nodes_per_s"`
	// null if not measured
	HopNS *Percentiles `json:"hop_ns"`
	// InstanceNS is the latency of each instance, in the order of ends.
	InstanceNS []int64 `json:"instance_ns"`
	// InFlight bounds the open instances, Workers the concurrent actions of an engine; 0 before version 5.
	InFlight int `json:"in_flight"`
	Workers  int `json:"workers"`
	// on the store; 0 in older files
	Engines int `json:"engines"`
	// how evenly the run treated equals; null without equals
	Fairness *Fairness `json:"fairness"`
	// the process's; null if unknown
	Memory *Memory `json:"memory"`
	// null if unknown, and before version 5
	CPU *CPU `json:"cpu"`
	// the server's; null without a server
	Counters *Counters `json:"counters"`
	// of the sessions; null for a backend without any, and before version 4
	Waits    *Waits   `json:"waits"`
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings"`
}

// Key is that of the sample's row.
func (s *Sample) Key() Key { return Key{s.Scenario, s.Backend, s.Size, s.Mode} }

// NodeRuns is the number of completed node runs.
func (s *Sample) NodeRuns() int {
	if s.NodeRunsTotal > 0 {
		return s.NodeRunsTotal
	}
	return s.Instances * s.Nodes
}

// Fairness compares equal clients and engines. 1 is even.
type Fairness struct {
	// Instances is the longest mean wait of a client for its instances, divided by the shortest. Each client has one instance
	// in flight, all alike. Null with one client.
	Instances *float64 `json:"instances"`
	// Engines is the most node runs applied by an engine, divided by the fewest; null with one engine, or if one applied none.
	Engines *float64 `json:"engines"`
}

// Waits are samples of the workload's sessions, taken every few milliseconds. A share of samples estimates the same share of
// time.
type Waits struct {
	// Looks are the samples with some session in a transaction. Busy counts the sessions in one, over all samples, and ForRows
	// those of them that waited for a locked row.
	Looks   int64 `json:"looks"`
	Busy    int64 `json:"busy"`
	ForRows int64 `json:"for_rows"`
	// LongestNS is the longest of these waits so far when sampled; 0 before Postgres 14, which lacks it.
	LongestNS int64 `json:"longest_ns"`
}

// Share is the share of transaction time that sessions wait for a locked row; ok is false if no session was in a transaction.
func (w Waits) Share() (share float64, ok bool) {
	return float64(w.ForRows) / float64(max(w.Busy, 1)), w.Busy > 0
}

// Memory is that of the measuring process, with the harness.
type Memory struct {
	// resident: before the run, and the peak
	StartBytes int64 `json:"start_bytes"`
	PeakBytes  int64 `json:"peak_bytes"`
	// FileBytes is its file pages at the end: program code, which processes share and the system can drop.
	FileBytes int64 `json:"file_bytes"`
}

// CPU is processor time, user and system.
type CPU struct {
	// ProcessNS is this process's, with the harness, from the first submission to the last result. ServerNS is that of the
	// server's processes for the run; null if they are not on this machine.
	ProcessNS int64  `json:"process_ns"`
	ServerNS  *int64 `json:"server_ns"`
	// OthersNS is that of everything else on the machine, including time stolen by a hypervisor; null if unknown.
	OthersNS *int64 `json:"others_ns"`
	// Stages divides ProcessNS by the profiler's samples. Null without a profile, and before version 6.
	Stages []StageTime `json:"stages"`
}

// StageTime is the processor time of one stage of node runs.
type StageTime struct {
	Stage string `json:"stage"`
	NS    int64  `json:"ns"`
}

// Counters are the server's counts of one run. Null is unknown.
type Counters struct {
	// SeqRowsRead plus IndexRowsFetched: live rows, without index-only scans
	RowsRead *int64 `json:"rows_read"`
	// live rows returned by sequential scans
	SeqRowsRead *int64 `json:"seq_rows_read"`
	// live rows fetched by index scans
	IndexRowsFetched *int64 `json:"index_rows_fetched"`
	// returned by index scans, with or without a visit of the table
	IndexEntriesRead *int64 `json:"index_entries_read"`

	RowsInserted *int64 `json:"rows_inserted"`
	RowsUpdated  *int64 `json:"rows_updated"`
	// those of RowsUpdated that touched no index
	RowsHOTUpdated *int64 `json:"rows_hot_updated"`
	RowsDeleted    *int64 `json:"rows_deleted"`

	// without transaction control
	Statements *int64 `json:"statements"`
	// transactions
	Commits   *int64 `json:"commits"`
	Rollbacks *int64 `json:"rollbacks"`
	// WriteTransactions are the whole server's transaction ids: transactions and subtransactions that wrote.
	WriteTransactions *int64 `json:"write_transactions"`
	// growth of the whole server's write-ahead log
	WALBytes *int64 `json:"wal_bytes"`

	// Deadlocks are those resolved in this database. SerializationFailures are the statements that failed to serialize, as the
	// client saw them.
	Deadlocks             *int64 `json:"deadlocks"`
	SerializationFailures *int64 `json:"serialization_failures"`
}

// Subtract takes off what is not the run's, down to zero. What either does not know stays as it is.
func (c *Counters) Subtract(o *Counters) {
	for _, pair := range []struct{ of, by *int64 }{
		{c.RowsRead, o.RowsRead}, {c.SeqRowsRead, o.SeqRowsRead}, {c.IndexRowsFetched, o.IndexRowsFetched}, {c.IndexEntriesRead, o.IndexEntriesRead},
		{c.RowsInserted, o.RowsInserted}, {c.RowsUpdated, o.RowsUpdated}, {c.RowsHOTUpdated, o.RowsHOTUpdated}, {c.RowsDeleted, o.RowsDeleted},
		{c.Statements, o.Statements}, {c.Commits, o.Commits}, {c.Rollbacks, o.Rollbacks}, {c.WriteTransactions, o.WriteTransactions},
		{c.WALBytes, o.WALBytes}, {c.Deadlocks, o.Deadlocks}, {c.SerializationFailures, o.SerializationFailures},
	} {
		if pair.of != nil && pair.by != nil {
			*pair.of = max(*pair.of-*pair.by, 0)
		}
	}
}

// Validate reports the first reason not to write or believe the manifest.
func (m *Manifest) Validate() error {
	if err := checkSchema(m.Schema); err != nil {
		return err
	}
	if !m.EndedAt.IsZero() && m.EndedAt.Before(m.StartedAt) {
		return fmt.Errorf("ended_at lies before started_at")
	}
	for _, c := range m.Cases {
		if err := c.Graph.validate(); err != nil {
			return fmt.Errorf("case %s %d: %w", c.Scenario, c.Size, err)
		}
	}
	return validateSamples(m.Samples)
}

func validateSamples(samples []Sample) error {
	for i := range samples {
		s := &samples[i]
		switch {
		case s.Scenario == "" || s.Backend == "":
			return fmt.Errorf("sample %d: has no scenario or no backend", i+1)
		case s.Size < 0 || s.Nodes < 0 || s.Instances < 0 || s.ElapsedNS < 0:
			return fmt.Errorf("sample %d (%s): has a negative figure", i+1, s.Key())
		case !isFigure(s.NodesPerS):
			return fmt.Errorf("sample %d (%s): nodes_per_s is %v", i+1, s.Key(), s.NodesPerS)
		}
	}
	return nil
}
