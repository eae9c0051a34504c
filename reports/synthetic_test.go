package reports_test

import (
	"fmt"
	"math"
	"time"

	"pulley/reports/record"
)

func ptr[T any](v T) *T { return &v }

var synthStart = time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)

type shape struct {
	name                string
	rows, micros, wal   func(n float64) float64
	statements, commits float64
	hopP50NS            float64
	withoutDatabase     bool
}

var synthBackends = []shape{
	{name: "push", statements: 0.11, commits: 0.06, hopP50NS: 310e3,
		rows:   func(n float64) float64 { return 3.1 + 1/n },
		micros: func(n float64) float64 { return 48 + 900/n }, wal: func(n float64) float64 { return 820 + 3000/n }},
	{name: "push:batch=1", statements: 7.2, commits: 1.01, hopP50NS: 290e3,
		rows:   func(n float64) float64 { return 4.2 + 1/n },
		micros: func(n float64) float64 { return 265 + 900/n }, wal: func(n float64) float64 { return 1210 + 3000/n }},
	{name: "pull:scan=app", statements: 3.4, commits: 1.02, hopP50NS: 2.4e6,
		rows:   func(n float64) float64 { return 2 + 0.51*n },
		micros: func(n float64) float64 { return 190 + 1.3*n + 900/n }, wal: func(n float64) float64 { return 640 + 2000/n }},
	{name: "pull:scan=sql", statements: 2.1, commits: 1.02, hopP50NS: 1.6e6,
		rows:   func(n float64) float64 { return 5 + 0.32*n },
		micros: func(n float64) float64 { return 170 + 0.4*n + 900/n }, wal: func(n float64) float64 { return 655 + 2000/n }},
	{name: "memory", hopP50NS: 9e3, withoutDatabase: true,
		micros: func(n float64) float64 { return 4 + 90/n }},
}

var synthScenarios = []struct {
	name  string
	sizes map[int]int
}{
	{"fanout", map[int]int{10: 12, 50: 52, 100: 102, 500: 502, 2000: 2002}},
	{"loop", map[int]int{8: 26, 32: 98, 128: 386}},
	{"chain", map[int]int{10: 12, 100: 102}},
	{"trace:epigenomics-chameleon-hep-1seq-100k-001", map[int]int{1: 43}},
}

func synthetic() (*record.Summary, *record.Manifest) {
	s := &record.Summary{Schema: 1, Notes: []string{"Payloads are 64 bytes."}}
	m := &record.Manifest{
		Schema: 1, Seed: 42, Runs: 6, Order: "ABBA", StartedAt: synthStart, EndedAt: synthStart.Add(3*time.Minute + 20*time.Second),
		Command: []string{"pulley", "compare", "--backends", "push,pull", "--runs", "6", "--out", "out/demo"},
		Tool:    record.Tool{Name: "pulley", Version: "v0.1.0", Revision: "0123456789abcdef", Modified: true, Go: "go1.26.8"},
		Host:    record.Host{OS: "linux", Arch: "amd64", CPU: "Imaginary CPU @ 2.50GHz", Cores: 2, MemoryBytes: 16 << 30},
		Postgres: &record.Postgres{Way: "local binaries", Version: "15.18 (Debian 15.18-0+deb12u1)", VersionNum: 150018,
			Settings: []record.Setting{{Name: "fsync", Value: "on"}, {Name: "synchronous_commit", Value: "on"},
				{Name: "full_page_writes", Value: "on"}, {Name: "wal_level", Value: "replica"},
				{Name: "shared_buffers", Value: "256MB"}, {Name: "max_wal_size", Value: "4GB"}}},
		Methods: []record.Method{
			{Figure: "nodes_per_s", Text: "node runs divided by wall time"}, {Figure: "hop_ns", Text: "from commit to start"},
			{Figure: "instance_ns", Text: "from submission to end"}, {Figure: "rows_read_per_node", Text: "from pg_stat_user_tables"},
			{Figure: "statements_per_node", Text: "from pg_stat_statements"}, {Figure: "commits_per_node", Text: "from pg_stat_database"},
			{Figure: "wal_bytes_per_node", Text: "from the WAL position, of the whole server"},
			{Figure: "hot_share", Text: "n_tup_hot_upd / n_tup_upd"}, {Figure: "lock_wait_share", Text: "looked at every 20 ms"},
			{Figure: "valid", Text: "every result was the expected one"},
		},
		Cases:    []record.Case{{Scenario: "fanout", Size: 10, Nodes: 12, Program: "fn main(input: [n], output: [total]):\n    return n\n"}},
		Warnings: []string{"client and server shared two cores"},
	}
	for _, b := range synthBackends {
		m.Backends = append(m.Backends, b.name)
	}
	for _, sc := range synthScenarios {
		m.Scenarios = append(m.Scenarios, sc.name)
		for _, size := range []int{1, 8, 10, 32, 50, 100, 128, 500, 2000} {
			nodes, ok := sc.sizes[size]
			if !ok {
				continue
			}
			for _, b := range synthBackends {
				s.Rows = append(s.Rows, synthRow(sc.name, b, size, nodes))
				m.Samples = append(m.Samples, synthSamples(sc.name, b, size, nodes)...)
			}
		}
	}
	s.Claims = synthClaims()
	return s, m
}

func synthRow(scenario string, b shape, size, nodes int) record.Row {
	n := float64(nodes)
	rate := 1e6 / b.micros(n)
	instance := int64(b.micros(n) * n * 1e3)
	r := record.Row{
		Scenario: scenario, Backend: b.name, Size: size, Nodes: nodes, Runs: 6, Valid: true,
		NodesPerS:  &record.Spread{Median: rate, Lo: rate * 0.93, Hi: rate * 1.05},
		HopNS:      &record.Percentiles{P50: int64(b.hopP50NS), P99: int64(b.hopP50NS * 3.1), P999: int64(b.hopP50NS * 5.7), Max: int64(b.hopP50NS * 9)},
		InstanceNS: &record.InstancePercentiles{P50: instance, P99: int64(float64(instance) * 1.08), Max: int64(float64(instance) * 1.09)},
	}
	if b.withoutDatabase {
		r.Warnings = []string{"memory has no database: nothing was counted"}
		return r
	}
	r.RowsReadPerNode, r.WALBytesPerNode = ptr(b.rows(n)), ptr(b.wal(n))
	r.StatementsPerNode, r.CommitsPerNode = ptr(b.statements), ptr(b.commits)
	r.HOTShare, r.LockWaitShare = ptr(0.5), ptr(0.0125)
	if b.name == "pull:scan=app" && size == 2000 {
		r.Warnings = []string{"1 checkpoint during the run: pages touched after it were written to the WAL whole"}
	}
	return r
}

func synthSamples(scenario string, b shape, size, nodes int) []record.Sample {
	n := float64(nodes)
	var out []record.Sample
	for run := 1; run <= 6; run++ {
		wobble := 1 + 0.03*math.Sin(float64(run*7+size))
		s := record.Sample{Scenario: scenario, Backend: b.name, Size: size, Run: run, Order: run, Instances: 1, Nodes: nodes,
			NodesPerS: 1e6 / b.micros(n) * wobble, Valid: true}
		if !b.withoutDatabase {
			s.Counters = &record.Counters{
				RowsRead: ptr(int64(b.rows(n) * n * wobble)), WALBytes: ptr(int64(b.wal(n) * n * wobble)),
				Statements: ptr(int64(b.statements * n)), Commits: ptr(int64(b.commits * n)),
			}
		}
		out = append(out, s)
	}
	return out
}

func synthClaims() []record.Claim {
	var out []record.Claim
	push, pull := synthBackends[0], synthBackends[2]
	for _, kind := range []string{"rows read per node", "time per node"} {
		cost := map[string]func(shape, float64) float64{
			"rows read per node": func(b shape, n float64) float64 { return b.rows(n) },
			"time per node":      func(b shape, n float64) float64 { return b.micros(n) },
		}[kind]
		series := "fanout, pull:scan=app / push: " + kind
		for _, size := range []int{10, 50, 100, 500} {
			n := float64(size + 2)
			v := cost(pull, n) / cost(push, n)
			out = append(out, record.Claim{
				Name: fmt.Sprintf("%s, size %d", series, size), Series: series, Size: size, Claimed: float64(size), Unit: "×",
				Method: "median over 6 runs in pairs", Measured: ptr(v), Lo: ptr(v * 0.9), Hi: ptr(v * 1.1),
			})
		}
	}
	return append(out,
		record.Claim{Name: "loop of 32 × 3, pull:scan=app: rows read for one instance", Claimed: 4600, Unit: "rows read", Size: 32,
			Method: "counted by the server", Measured: ptr(5124.0), Lo: ptr(5100.0), Hi: ptr(5200.0)},
		record.Claim{Name: "loop of 32 × 3, push: rows read for one instance", Claimed: 96, Unit: "rows read", Size: 32,
			Method: "counted by the server", Measured: ptr(305.0), Lo: ptr(301.0), Hi: ptr(309.0)},
		record.Claim{Name: "loop of 32 × 3, push: statements for one instance", Claimed: 96, Unit: "statements", Size: 32,
			Method: "not measured: no valid run at size 32 with this figure"},
	)
}
