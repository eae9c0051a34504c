package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Manifest is the content of manifest.json: how a run was made, in enough detail to make it again.
type Manifest struct {
	// Schema is SchemaVersion. WriteManifest sets it.
	Schema int `json:"schema"`
	// Command is the command line as it was given. A password in it must have been removed by the writer.
	Command []string `json:"command"`
	Tool    Tool     `json:"tool"`
	Host    Host     `json:"host"`
	// Postgres is the server that was measured; null when no backend of the run needed one.
	Postgres *Postgres `json:"postgres"`

	// Seed is where all randomness of the run came from.
	Seed uint64 `json:"seed"`
	// Scenarios, Sizes and Backends are what was asked for, in the order of asking.
	Scenarios []string `json:"scenarios"`
	Sizes     []int    `json:"sizes"`
	Backends  []string `json:"backends"`
	// Runs is how many repetitions were asked for.
	Runs int `json:"runs"`
	// Order names how the runs of the backends were interleaved: "ABBA".
	Order string `json:"order"`
	// Cases are the workloads themselves, since a seed means nothing after a generator has changed.
	Cases []Case `json:"cases"`

	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Interrupted says that the run was ended before its last repetition; what is there is what it had.
	Interrupted bool `json:"interrupted"`

	// Methods say how each figure was measured.
	Methods []Method `json:"methods"`
	// Samples are the raw figures of every run, in the order in which they ran.
	Samples []Sample `json:"samples"`
	// Warnings concern the run as a whole.
	Warnings []string `json:"warnings"`
}

// Tool is the program that measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Revision is the commit it was built from; empty where the build did not know.
	Revision string `json:"revision"`
	// Modified says that the source differed from Revision.
	Modified bool `json:"modified"`
	// Go is the version of the toolchain that built it.
	Go string `json:"go"`
}

// Host is the machine that measured. Client and server are the same machine unless a warning says otherwise.
type Host struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// CPU is the processor's own name; empty where the system does not tell.
	CPU string `json:"cpu"`
	// Cores is how many the program may use.
	Cores int `json:"cores"`
	// MemoryBytes is the machine's memory; 0 where the system does not tell.
	MemoryBytes int64 `json:"memory_bytes"`
}

// Fingerprint names what tells machines apart; empty for nothing. Memory counts in GiB, since what a kernel keeps for itself varies a
// little from one to the next.
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

// Postgres is the server that was measured.
type Postgres struct {
	// Way says how the server was had: given by a DSN, started from local binaries, in a container, or downloaded.
	Way string `json:"way"`
	// Version is the server's own version string; VersionNum the same as a number, 150018 for 15.18.
	Version    string `json:"version"`
	VersionNum int    `json:"version_num"`
	// Settings are those that decide durability and speed, as the server reported them.
	Settings []Setting `json:"settings"`
}

// Setting is one server setting. Value carries its unit, as SHOW prints it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Setting returns the value of the named setting, or "" where it was not recorded.
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

// Case is one workload: a program, its input, and what must come out.
type Case struct {
	Scenario string `json:"scenario"`
	Size     int    `json:"size"`
	// Nodes is how many node runs one instance completes.
	Nodes int `json:"nodes"`
	// Program is the workflow's text; empty where it came from elsewhere, which Source then names.
	Program string `json:"program,omitempty"`
	// Source names a file the case was read from, with what identifies its content.
	Source string `json:"source,omitempty"`
	// Input is what main was given; Want the result that was demanded of every run.
	Input json.RawMessage `json:"input,omitempty"`
	Want  json.RawMessage `json:"want,omitempty"`
}

// Method says how one figure was measured.
type Method struct {
	// Figure is the figure's name in the files: "rows_read_per_node".
	Figure string `json:"figure"`
	// Text says how it was measured, and what it does not cover.
	Text string `json:"text"`
}

// Sample is the raw outcome of one run: one scenario at one size on one backend in one mode, once.
type Sample struct {
	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Size     int    `json:"size"`
	// Mode is one of the Mode constants; empty in files before version 5.
	Mode string `json:"mode"`
	// Run is the repetition, from 1. Runs of different backends with the same number were neighbours in time.
	Run int `json:"run"`
	// Order is the place in the whole sequence, from 1.
	Order     int       `json:"order"`
	StartedAt time.Time `json:"started_at"`
	// ElapsedNS is the wall time from the first submission to the last committed end, in nanoseconds.
	ElapsedNS int64 `json:"elapsed_ns"`
	// Instances is how many instances ran to their end; Nodes how many node runs one of them completes, in the mean where
	// they differ, and then NodeRunsTotal has those of all together. It is left out where that is Instances × Nodes.
	Instances     int     `json:"instances"`
	Nodes         int     `json:"nodes"`
	NodeRunsTotal int     `json:"node_runs_total,omitempty"`
	NodesPerS     float64 `json:"nodes_per_s"`
	// HopNS are the run's own percentiles; null where none was measured.
	HopNS *Percentiles `json:"hop_ns"`
	// InstanceNS is the latency of each instance in nanoseconds, in the order of their ends.
	InstanceNS []int64 `json:"instance_ns"`
	// InFlight is how many instances were there at once at most, and Workers how many actions an engine ran at once; 0 in
	// files before version 5.
	InFlight int `json:"in_flight"`
	Workers  int `json:"workers"`
	// Engines is how many engines shared the store; 0 in files that were written before there could be several.
	Engines int `json:"engines"`
	// Fairness says how evenly the run treated equals; null where there were no equals.
	Fairness *Fairness `json:"fairness"`
	// Memory is what the process held; null where the system does not tell.
	Memory *Memory `json:"memory"`
	// CPU is what the run used of the processors; null where the system does not tell, and before version 5.
	CPU *CPU `json:"cpu"`
	// Counters are the server's; null for a backend without one.
	Counters *Counters `json:"counters"`
	// Waits is what was seen of the workload's sessions; null for a backend without any, and before version 4.
	Waits    *Waits   `json:"waits"`
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings"`
}

// Key is the key of the row that the sample belongs to.
func (s *Sample) Key() Key { return Key{s.Scenario, s.Backend, s.Size, s.Mode} }

// NodeRuns is how many node runs completed in the sample.
func (s *Sample) NodeRuns() int {
	if s.NodeRunsTotal > 0 {
		return s.NodeRunsTotal
	}
	return s.Instances * s.Nodes
}

// Fairness compares those who did, or waited for, the same. 1 is even.
type Fairness struct {
	// Instances is the longest time that a client waited for its instances on average, divided by the shortest. Every
	// client has one instance in flight at a time, all alike. Null where there was one client.
	Instances *float64 `json:"instances"`
	// Engines is the most node runs that one engine applied, divided by the fewest; null where there was one engine,
	// or where one applied none.
	Engines *float64 `json:"engines"`
}

// Waits is what was seen of the workload's sessions, which were looked at every few milliseconds. A share of looks
// stands for the same share of time.
type Waits struct {
	// Looks are those at which some session was in a transaction. Busy are the sessions in one, summed over the looks,
	// and ForRows those of them that waited for a row which another had locked.
	Looks   int64 `json:"looks"`
	Busy    int64 `json:"busy"`
	ForRows int64 `json:"for_rows"`
	// LongestNS is how long the longest of these waits had taken when it was seen, in nanoseconds; 0 before Postgres 14,
	// which does not tell.
	LongestNS int64 `json:"longest_ns"`
}

// Share is which part of the time that sessions spend in transactions they wait for another's row; ok is false where
// none was seen in a transaction.
func (w Waits) Share() (share float64, ok bool) {
	return float64(w.ForRows) / float64(max(w.Busy, 1)), w.Busy > 0
}

// Memory is what the process that measured held, harness included.
type Memory struct {
	// StartBytes is its resident memory before the run, PeakBytes the most during it.
	StartBytes int64 `json:"start_bytes"`
	PeakBytes  int64 `json:"peak_bytes"`
	// FileBytes is how much of it was pages of files at the end: the program's own code, which processes share and the
	// system can drop.
	FileBytes int64 `json:"file_bytes"`
}

// CPU is processor time, of user and system together.
type CPU struct {
	// ProcessNS is this process', harness included, from the first submission to the last result. ServerNS is that of
	// the server's processes which worked for the run; null where they are not on this machine.
	ProcessNS int64  `json:"process_ns"`
	ServerNS  *int64 `json:"server_ns"`
	// OthersNS is what everything else on the machine used meanwhile, time that a hypervisor took included; null where
	// the system does not tell.
	OthersNS *int64 `json:"others_ns"`
	// Stages is which part of ProcessNS went into each stage, by the profiler's samples; they add up to it. Null where no
	// profile was taken, and before version 6.
	Stages []StageTime `json:"stages"`
}

// StageTime is processor time that went into one stage of node runs.
type StageTime struct {
	Stage string `json:"stage"`
	NS    int64  `json:"ns"`
}

// Counters are what the server counted during one run. A counter that could not be read is null.
type Counters struct {
	// RowsRead is SeqRowsRead plus IndexRowsFetched: live rows. Index-only scans would be missing from it.
	RowsRead *int64 `json:"rows_read"`
	// SeqRowsRead are live rows that sequential scans returned.
	SeqRowsRead *int64 `json:"seq_rows_read"`
	// IndexRowsFetched are live rows that index scans fetched from a table.
	IndexRowsFetched *int64 `json:"index_rows_fetched"`
	// IndexEntriesRead are entries that index scans returned, whether or not the table was then visited.
	IndexEntriesRead *int64 `json:"index_entries_read"`

	RowsInserted *int64 `json:"rows_inserted"`
	RowsUpdated  *int64 `json:"rows_updated"`
	// RowsHOTUpdated are those of RowsUpdated that touched no index.
	RowsHOTUpdated *int64 `json:"rows_hot_updated"`
	RowsDeleted    *int64 `json:"rows_deleted"`

	// Statements are executed statements, transaction control not counted.
	Statements *int64 `json:"statements"`
	// Commits are committed transactions, Rollbacks those rolled back.
	Commits   *int64 `json:"commits"`
	Rollbacks *int64 `json:"rollbacks"`
	// WriteTransactions are transaction ids that the whole server gave out: transactions and subtransactions that
	// wrote something.
	WriteTransactions *int64 `json:"write_transactions"`
	// WALBytes is how far the whole server's write-ahead log moved on.
	WALBytes *int64 `json:"wal_bytes"`

	// Deadlocks are those that the server resolved in this database, SerializationFailures the statements that it
	// refused because transactions could not be put in an order, as the client saw them.
	Deadlocks             *int64 `json:"deadlocks"`
	SerializationFailures *int64 `json:"serialization_failures"`
}

// Validate reports the first thing that makes the manifest unfit to be written or believed.
func (m *Manifest) Validate() error {
	if err := checkSchema(m.Schema); err != nil {
		return err
	}
	if !m.EndedAt.IsZero() && m.EndedAt.Before(m.StartedAt) {
		return fmt.Errorf("ended_at lies before started_at")
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
