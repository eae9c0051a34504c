package record_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/reports/record"
)

func ptr[T any](v T) *T { return &v }

func fullRow() record.Row {
	return record.Row{
		Scenario: "fanout", Backend: "push", Size: 100, Nodes: 102, Runs: 6,
		NodesPerS:       &record.Spread{Median: 9000, Lo: 8000, Hi: 9500},
		HopNS:           &record.Percentiles{P50: 100, P99: 200, P999: 300, Max: 400},
		InstanceNS:      &record.InstancePercentiles{P50: 1000, P99: 2000, Max: 3000},
		RowsReadPerNode: ptr(4.5), StatementsPerNode: ptr(0.25), CommitsPerNode: ptr(0.125), WALBytesPerNode: ptr(900.0),
		HOTShare: ptr(0.75), LockWaitShare: ptr(0.01),
		Ceiling: record.CeilingBatched, CeilingFraction: ptr(0.225),
		Valid: true, Warnings: []string{},
	}
}

func fullCeilings() *record.Ceilings {
	return &record.Ceilings{
		Measurements: 2, PointNS: 3e8, Warnings: []string{},
		Rates: []record.CeilingRate{{
			Way: record.CeilingBatched, NodesPerS: record.Spread{Median: 40000, Lo: 38000, Hi: 42000}, Batch: 100, Connections: 2,
			Points: []record.CeilingPoint{
				{Batch: 100, Connections: 1, NodesPerS: []float64{30000, 31000}},
				{Batch: 100, Connections: 2, NodesPerS: []float64{38000, 42000}},
			},
		}},
		Idle: []record.IdleLatency{{What: record.IdleCommit, LatencyNS: record.Percentiles{P50: 1, P99: 2, P999: 3, Max: 4}, Count: 9}},
	}
}

func fullSummary() *record.Summary {
	null := record.Row{Scenario: "fanout", Backend: "memory", Size: 100, Nodes: 102, Runs: 1, Valid: true,
		Warnings: []string{"memory has no database: nothing was counted"}}
	return &record.Summary{
		Schema: record.SchemaVersion, Rows: []record.Row{fullRow(), null}, Notes: []string{"a <note> & more"},
		Differences: []record.Difference{{
			Scenario: "fanout", Size: 100, Mode: record.ModeAlone, Backend: "memory", Baseline: "push", Figure: record.FigureTime,
			Ratio: &record.Spread{Median: 0.5, Lo: 0.4, Hi: 0.6}, Confidence: 0.99, Decision: record.Better,
		}},
		Claims: []record.Claim{
			{Name: "a", Series: "s", Size: 10, Claimed: 10, Method: "m", Measured: ptr(3.0), Lo: ptr(2.0), Hi: ptr(4.0), Unit: "×"},
			{Name: "b", Claimed: 96, Method: "not run", Unit: "rows"},
		},
		Ceilings: fullCeilings(),
	}
}

func fullManifest() *record.Manifest {
	start := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	return &record.Manifest{
		Schema: record.SchemaVersion, Command: []string{"pulley", "compare"}, Seed: 7,
		Tool: record.Tool{Name: "pulley", Version: "v0.1.0", Revision: "abc", Modified: true, Go: "go1.26"},
		Host: record.Host{OS: "linux", Arch: "amd64", CPU: "c", Cores: 2, MemoryBytes: 1 << 34},
		Postgres: &record.Postgres{Way: "local binaries", Version: "15.18", VersionNum: 150018,
			Settings: []record.Setting{{Name: "fsync", Value: "on"}}},
		Scenarios: []string{"fanout"}, Sizes: []int{100}, Backends: []string{"push"}, Runs: 6, Order: "ABBA",
		Cases: []record.Case{{Scenario: "fanout", Size: 100, Nodes: 102, Program: "fn main", Input: json.RawMessage(`{"n":100}`)}},

		StartedAt: start, EndedAt: start.Add(time.Minute), Interrupted: true,
		Methods: []record.Method{{Figure: "hop_ns", Text: "t"}},
		Samples: []record.Sample{{Scenario: "fanout", Backend: "push", Size: 100, Mode: record.ModeAlone, InFlight: 1, Workers: 16, Run: 1, Order: 1, StartedAt: start,
			ElapsedNS: 1e9, Instances: 1, Nodes: 102, NodesPerS: 102, InstanceNS: []int64{1e9},
			CPU:      &record.CPU{ProcessNS: 5e8, ServerNS: ptr(int64(4e8)), OthersNS: ptr(int64(0))},
			Counters: &record.Counters{RowsRead: ptr(int64(5))}, Valid: true, Warnings: []string{}}},
		Warnings: []string{"w"},
	}
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	summary, manifest := fullSummary(), fullManifest()
	for _, err := range []error{
		record.WriteSummary(dir, summary), record.WriteManifest(dir, manifest), record.WriteSamples(dir, manifest.Samples),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	gotSummary, err := record.ReadSummary(filepath.Join(dir, record.SummaryFile))
	if diff := cmp.Diff(summary, gotSummary); err != nil || diff != "" {
		t.Errorf("summary: %v\n%s", err, diff)
	}
	gotManifest, err := record.ReadManifest(filepath.Join(dir, record.ManifestFile))
	rawJSON := cmp.Comparer(func(a, b json.RawMessage) bool { return compact(t, a) == compact(t, b) })
	if diff := cmp.Diff(manifest, gotManifest, rawJSON); err != nil || diff != "" {
		t.Errorf("manifest: %v\n%s", err, diff)
	}
	gotSamples, err := record.ReadSamples(filepath.Join(dir, record.SamplesFile))
	if diff := cmp.Diff(manifest.Samples, gotSamples); err != nil || diff != "" {
		t.Errorf("samples: %v\n%s", err, diff)
	}
	assertFiles(t, dir, record.ManifestFile, record.SamplesFile, record.SummaryFile)
}

func compact(t *testing.T, raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil && len(raw) > 0 {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Other readers depend on the names of a row's fields.
func TestRowNames(t *testing.T) {
	raw, err := json.Marshal(fullRow())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range fields {
		got = append(got, name)
	}
	slices.Sort(got)
	want := strings.Fields("backend ceiling ceiling_fraction commits_per_node hop_ns hot_share instance_ns instance_writes lock_wait_share mode nodes nodes_per_s rows_read_per_node runs " +
		"scenario size stages statements_per_node valid wal_bytes_per_node warnings")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Null only means "could not be measured".
func TestEmptyListsAreNotNull(t *testing.T) {
	dir := t.TempDir()
	row := fullRow()
	row.Warnings, row.CeilingFraction = nil, nil
	if err := record.WriteSummary(dir, &record.Summary{Rows: []record.Row{row}}); err != nil {
		t.Fatal(err)
	}
	if err := record.WriteManifest(dir, &record.Manifest{Samples: []record.Sample{{Scenario: "s", Backend: "b"}}}); err != nil {
		t.Fatal(err)
	}
	for file, may := range map[string][]string{
		record.SummaryFile: {"ceilings", "ceiling_fraction", "instance_writes", "stages"}, record.ManifestFile: {"postgres", "hop_ns", "counters", "fairness", "memory", "waits", "cpu"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			name, _, isNull := strings.Cut(line, `": null`)
			if isNull && !slices.Contains(may, strings.Trim(name, ` "`)) {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	cases := map[string]struct {
		corrupt func(*record.Summary)
		want    string
	}{
		"twice":                  {func(s *record.Summary) { s.Rows = append(s.Rows, s.Rows[0]) }, "stands twice"},
		"nameless":               {func(s *record.Summary) { s.Rows[0].Backend = "" }, "no backend"},
		"negative":               {func(s *record.Summary) { s.Rows[0].Runs = -1 }, "none may be negative"},
		"not a number":           {func(s *record.Summary) { s.Rows[0].RowsReadPerNode = ptr(math.NaN()) }, "rows_read_per_node"},
		"infinite":               {func(s *record.Summary) { s.Rows[0].NodesPerS.Hi = math.Inf(1) }, "nodes_per_s.hi"},
		"spread":                 {func(s *record.Summary) { s.Rows[0].NodesPerS.Lo = 9400 }, "out of order"},
		"hop":                    {func(s *record.Summary) { s.Rows[0].HopNS.P99 = 50 }, "hop_ns"},
		"instance":               {func(s *record.Summary) { s.Rows[0].InstanceNS.Max = 1 }, "instance_ns"},
		"share beyond all":       {func(s *record.Summary) { s.Rows[0].HOTShare = ptr(1.5) }, "hot_share is 1.5"},
		"share not a number":     {func(s *record.Summary) { s.Rows[0].LockWaitShare = ptr(math.NaN()) }, "lock_wait_share is NaN"},
		"silent null":            {func(s *record.Summary) { s.Rows[0].WALBytesPerNode = nil }, "no warning"},
		"silent null 2":          {func(s *record.Summary) { s.Rows[0].HopNS = nil }, "no warning"},
		"methodless":             {func(s *record.Summary) { s.Claims[0].Method = "" }, "no method"},
		"claim outside":          {func(s *record.Summary) { s.Claims[0].Hi = ptr(2.5) }, "outside"},
		"claim interval":         {func(s *record.Summary) { s.Claims[1].Lo = ptr(2.5) }, "interval"},
		"fraction of nothing":    {func(s *record.Summary) { s.Ceilings = nil }, `ceiling_fraction is of "batched", which was not measured`},
		"fraction of another":    {func(s *record.Summary) { s.Rows[0].Ceiling = record.CeilingCall }, `of "call", which was not measured`},
		"fraction not finite":    {func(s *record.Summary) { s.Rows[0].CeilingFraction = ptr(math.NaN()) }, "ceiling_fraction is NaN"},
		"ceiling twice":          {func(s *record.Summary) { s.Ceilings.Rates = append(s.Ceilings.Rates, s.Ceilings.Rates[0]) }, "stands twice"},
		"ceiling out of order":   {func(s *record.Summary) { s.Ceilings.Rates[0].NodesPerS.Lo = 50000 }, "not positive and in order"},
		"ceiling of negatives":   {func(s *record.Summary) { s.Ceilings.Rates[0].NodesPerInstance = -1 }, "may not be negative"},
		"ceiling of no point":    {func(s *record.Summary) { s.Ceilings.Rates[0].Connections = 16 }, "is not among its points"},
		"ceiling never measured": {func(s *record.Summary) { s.Ceilings.Measurements = 0 }, "0 measurements"},
		"ceiling's point":        {func(s *record.Summary) { s.Ceilings.Rates[0].Points[0].NodesPerS[1] = math.Inf(1) }, "a point has no figure"},
		"idle out of order":      {func(s *record.Summary) { s.Ceilings.Idle[0].LatencyNS.P99 = 0 }, "percentiles out of order"},
		"difference undecided":   {func(s *record.Summary) { s.Differences[0].Decision = "maybe" }, `decision "maybe"`},
		"difference nameless":    {func(s *record.Summary) { s.Differences[0].Baseline = "" }, "no scenario, backend, baseline"},
		"difference's interval":  {func(s *record.Summary) { s.Differences[0].Ratio.Lo = 0.55 }, "out of order"},
		"claim infinite":         {func(s *record.Summary) { s.Claims[0].Claimed = math.Inf(1) }, "not finite"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := fullSummary()
			if err := s.Validate(); err != nil {
				t.Fatalf("unspoilt: %v", err)
			}
			c.corrupt(s)
			dir := t.TempDir()
			err := record.WriteSummary(dir, s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			assertFiles(t, dir)
		})
	}
}

func TestReadRefuses(t *testing.T) {
	cases := map[string]struct{ content, want string }{
		"not JSON":      {"hello", "not what pulley writes"},
		"a list":        {"[]", "not what pulley writes"},
		"no schema":     {`{"rows": []}`, "no schema field"},
		"newer":         {`{"schema": 10, "rows": [], "shiny": 1}`, "schema 10 is not known here, only 1 to 9"},
		"much older":    {`{"schema": 0, "rows": []}`, "schema 0 is not known"},
		"unknown field": {`{"schema": 1, "rows": [], "shiny": 1}`, `unknown field "shiny"`},
		"wrong type":    {`{"schema": 1, "rows": 7}`, "rows"},
		"trailing":      {`{"schema": 1} {}`, "after"},
		"invalid":       {`{"schema": 1, "rows": [{"scenario": ""}]}`, "no scenario"},
		"empty":         {"", "not what pulley writes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.json")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := record.ReadSummary(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q and the path", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
	if _, err := record.ReadManifest(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "s.ndjson")
	if err := os.WriteFile(path, []byte(`{"schema":1,"scenario":"a","backend":"b"}`+"\n"+`{"schema":10}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := record.ReadSamples(path); err == nil || !strings.Contains(err.Error(), "s.ndjson:2: schema 10") {
		t.Errorf("got %v", err)
	}
}

func TestReadsEarlierSchemas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	old := `{"schema": 1, "rows": [{"scenario": "chain", "backend": "push", "size": 1, "nodes": 1, "runs": 1, "nodes_per_s": null, "hop_ns": null,
		"instance_ns": null, "rows_read_per_node": null, "statements_per_node": null, "commits_per_node": null, "wal_bytes_per_node": null,
		"valid": false, "warnings": ["interrupted"]}], "notes": [], "claims": []}`
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := record.ReadSummary(path)
	if err != nil || s.Ceilings != nil || len(s.Rows) != 1 || s.Rows[0].CeilingFraction != nil {
		t.Errorf("%v, %+v", err, s)
	}
}

func TestCeilingsAreFound(t *testing.T) {
	c := fullCeilings()
	if r := c.Rate(record.CeilingBatched); r == nil || r.Connections != 2 {
		t.Errorf("batched: %+v", r)
	}
	if l := c.Latency(record.IdleCommit); l == nil || l.P99 != 2 {
		t.Errorf("commit: %+v", l)
	}
	var none *record.Ceilings
	if c.Rate(record.CeilingCopy) != nil || none.Rate(record.CeilingBatched) != nil || c.Latency(record.IdleAppend) != nil || none.Latency(record.IdleCommit) != nil {
		t.Error("what was not measured is found")
	}
}

func TestEncodeCeilings(t *testing.T) {
	var b strings.Builder
	if err := record.EncodeCeilings(&b, &record.CeilingReport{Ceilings: fullCeilings()}); err != nil {
		t.Fatal(err)
	}
	var got record.CeilingReport
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullCeilings(), got.Ceilings); diff != "" || got.Schema != record.SchemaVersion || got.Methods == nil {
		t.Errorf("schema %d, methods %v\n%s", got.Schema, got.Methods, diff)
	}
	bad := fullCeilings()
	bad.PointNS = 0
	for _, c := range []*record.Ceilings{nil, bad} {
		if err := record.EncodeCeilings(&b, &record.CeilingReport{Ceilings: c}); err == nil {
			t.Errorf("%+v is written", c)
		}
	}
}

// The write fails, as on a full disk; the old file must stay.
func TestWriteFileKeepsTheOldOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	put := func(content string, fail error) error {
		return record.WriteFile(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, content); err != nil {
				return err
			}
			return fail
		})
	}
	if err := put("old", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk on fire")
	if err := put(strings.Repeat("new", 1<<17), broken); !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(path); string(data) != "old" || err != nil {
		t.Errorf("left %q, %v", data, err)
	}
	assertFiles(t, dir, "f")
}

// Users see these lines. The full disk is a real one where the system has one.
func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nothing := func(io.Writer) error { return nil }
	for path, want := range map[string]string{
		filepath.Join(file, "x"): "not a directory: choose a directory that you may write to",
		dir:                      "is a directory",
	} {
		err := record.WriteFile(path, nothing)
		if err == nil || !strings.HasPrefix(err.Error(), "write "+path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	full := func(io.Writer) error {
		return os.WriteFile("/dev/full", []byte("x"), 0o600)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		err := record.WriteFile(filepath.Join(dir, "y"), full)
		if err == nil || !strings.HasSuffix(err.Error(), "y: no space left on device: free some space or choose another directory") {
			t.Errorf("full disk: got %v", err)
		}
	}
	assertFiles(t, dir, "file")
}

func assertFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("directory holds %q, want %q", got, want)
	}
}

func TestSetting(t *testing.T) {
	if got := fullManifest().Postgres.Setting("fsync"); got != "on" {
		t.Errorf("fsync: %q", got)
	}
	var none *record.Postgres
	if got := none.Setting("fsync"); got != "" {
		t.Errorf("no server: %q", got)
	}
}

func TestFind(t *testing.T) {
	s := fullSummary()
	if got := s.Find(record.Key{Scenario: "fanout", Backend: "memory", Size: 100}); got != &s.Rows[1] {
		t.Errorf("got %v", got)
	}
	if got := s.Find(record.Key{Scenario: "fanout", Backend: "memory", Size: 7}); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestRateFor(t *testing.T) {
	rate := func(nodes int) record.CeilingRate {
		return record.CeilingRate{Way: record.CeilingBatched, NodesPerInstance: nodes}
	}
	whole := &record.Ceilings{Rates: []record.CeilingRate{rate(0), rate(10), rate(40), rate(1000)}}
	for nodes, want := range map[int]int{0: 0, 1: 10, 10: 10, 19: 10, 20: 40, 21: 40, 102: 40, 100_000: 1000} {
		if got := whole.RateFor(record.CeilingBatched, nodes, nil); got == nil || got.NodesPerInstance != want {
			t.Errorf("%d nodes: %+v, want those of %d", nodes, got, want)
		}
	}
	earlier := fullCeilings()
	if got := earlier.RateFor(record.CeilingBatched, 10, nil); got == nil || got.NodesPerInstance != 0 {
		t.Errorf("an earlier record: %+v", got)
	}
	earlier.Rates[0].NodesPerInstance = 10 // like a record from before there were graphs
	if got := earlier.RateFor(record.CeilingBatched, 10, &record.InstanceWrites{Nodes: 10}); got == nil {
		t.Error("the ceiling of an earlier record is not found for a graph")
	}
	var none *record.Ceilings
	if none.RateFor(record.CeilingBatched, 10, nil) != nil || whole.RateFor(record.CeilingCopy, 10, nil) != nil {
		t.Error("a ceiling that was not measured is found")
	}
}

// The graph with the most similar writes must be chosen, whatever its number of nodes.
func TestRateForGraphs(t *testing.T) {
	var c record.Ceilings
	all := []record.InstanceWrites{
		{Nodes: 10}, {Nodes: 10, Values: 9, Raises: 5, Counters: 2}, {Nodes: 100, Values: 90, Raises: 50, Counters: 20}, {Nodes: 100, Elements: 98, Raises: 99, Counters: 1},
	}
	for i := range all {
		c.Rates = append(c.Rates, record.CeilingRate{Way: record.CeilingBatched, NodesPerInstance: all[i].Nodes, Writes: &all[i]})
	}
	for i, w := range []record.InstanceWrites{
		{Nodes: 11, Values: 1}, {Nodes: 12, Values: 11, Raises: 6, Counters: 2}, {Nodes: 1000, Values: 910, Raises: 500, Counters: 200}, {Nodes: 10, Elements: 7, Raises: 8, Counters: 1},
	} {
		if got := c.RateFor(record.CeilingBatched, w.Nodes, &w); got == nil || *got.Writes != all[i] {
			t.Errorf("%+v is held against %+v, want %+v", w, got, all[i])
		}
	}
	c.Measurements, c.PointNS = 1, 1
	for _, bad := range []record.InstanceWrites{{}, {Nodes: 1, Values: -1}, {Nodes: 1, Raises: 1}, {Nodes: 1, Raises: 1, Counters: 2}} {
		c.Rates = []record.CeilingRate{{Way: record.CeilingBatched, Writes: &bad}}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "an instance writes") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
