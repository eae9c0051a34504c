package reports_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench/claim"
	"pulley/bench/gate"
	"pulley/bench/history"
	"pulley/internal/browsertest"
	"pulley/internal/depth"
	"pulley/reports"
	"pulley/reports/changes"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/verdicts"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }

// kind is a kind of record: how a full one is made, and laid out. make returns a pointer, or several in a struct.
type kind struct {
	name string
	make func() any
	page func(any) *page.Page
}

type comparison struct {
	Summary  *record.Summary
	Manifest *record.Manifest
}

var kinds = []kind{
	{"compare", func() any { return campaign(depth.Of(2, 3), depth.Of(3, 5), 6) }, func(r any) *page.Page {
		c := r.(*comparison)
		return reports.Compare(c.Summary, c.Manifest, page.File{Name: record.SummaryFile, Data: []byte("{}\n")})
	}},
	{"bench", func() any { return loadRun() }, func(r any) *page.Page { return reports.Load(r.(*record.Load)) }},
	{"knee", func() any { return kneeReport() }, func(r any) *page.Page { return reports.Knees(r.(*record.KneeReport)) }},
	{"chaos", func() any { return disturbed() }, func(r any) *page.Page { return verdicts.Chaos(r.(*record.Chaos)) }},
	{"sim", func() any { return simRecord() }, func(r any) *page.Page { return verdicts.Sim(r.(*verdicts.SimRecord)) }},
	{"night", func() any { return night() }, func(r any) *page.Page { return verdicts.Night(r.(*record.Night)) }},
	{"gate", func() any { return gateReport() }, func(r any) *page.Page { return changes.Gate(r.(*gate.Report)) }},
	{"forecast", func() any { return forecastRecord() }, func(r any) *page.Page {
		f := r.(*forecast)
		return verdicts.Forecast(f.Forecast, f.Gantt)
	}},
	{"beside", func() any { return twoRecords() }, func(r any) *page.Page {
		two := r.(*beside)
		p, err := changes.Beside("out/after", "out/before", []gate.Run{{Dir: "out/after", Manifest: two.After}}, []gate.Run{{Dir: "out/before", Manifest: two.Before}})
		if err != nil {
			panic(err)
		}
		return p
	}},
	{"selftest", func() any { return selfTest() }, func(r any) *page.Page { return changes.SelfTest(r.(*gate.SelfTest)) }},
	{"ceiling", func() any { return ceilingReport() }, func(r any) *page.Page { return reports.Ceilings(r.(*record.CeilingReport)) }},
	{"claims", func() any { return claimsReport() }, func(r any) *page.Page { return verdicts.Claims(r.(*claim.Report)) }},
	{"history", func() any { return historyReport() }, func(r any) *page.Page { return changes.History(r.(*history.Report)) }},
}

// mostKinds are all kinds at night. Before a change, those without a block of their own are left out: one renderer draws them all.
func mostKinds() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool {
		return !depth.Night() && slices.Contains([]string{"night", "gate", "selftest", "ceiling", "claims", "forecast"}, k.name)
	})
}

func (k kind) html(t *testing.T, r any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := k.page(r).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// campaign is a comparison of so many scenarios and designs, each alone and saturated, in three sizes, with so many of six runs each.
func campaign(scenarios, designs, runs int) *comparison {
	s, m := synthetic()
	shapes := slices.Clone(synthBackends[:min(designs, len(synthBackends))])
	s.Rows, m.Samples, m.Scenarios, m.Backends = nil, nil, nil, nil
	for _, b := range shapes {
		m.Backends = append(m.Backends, b.name)
	}
	for i := range scenarios {
		name := []string{"fanout", "loop", "chain", "diamond", "pipeline", "spread", "nested", "trace:epigenomics-chameleon-hep-1seq-100k-001"}[i%8]
		m.Scenarios = append(m.Scenarios, name)
		for _, size := range []int{10, 100, 1000} {
			for j, b := range shapes {
				for _, mode := range []string{record.ModeAlone, record.ModeSaturated} {
					r := synthRow(name, b, size, size+2)
					r.Mode = mode
					factor := 1 + 0.2*math.Sin(float64(3*i+j))
					if r.NodesPerS != nil {
						r.NodesPerS = &record.Spread{Median: r.NodesPerS.Median * factor, Lo: r.NodesPerS.Lo * factor * 0.9, Hi: r.NodesPerS.Hi * factor * 1.1}
					}
					s.Rows = append(s.Rows, r)
					for _, sample := range synthSamples(name, b, size, size+2)[:runs] {
						sample.Mode = mode
						m.Samples = append(m.Samples, sample)
					}
				}
			}
		}
	}
	return &comparison{s, m}
}

func loadRun() *record.Load {
	l := &record.Load{
		Command: []string{"pulley", "bench", "--backend", "push", "--scenario", "orders", "--arrivals", "poisson:200/s"}, Tool: record.Tool{Name: "pulley", Version: "v0.1.0"},
		Host: record.Host{OS: "linux", Arch: "amd64", CPU: "Imaginary CPU @ 2.50GHz", Cores: 2}, StartedAt: synthStart,
		Scenario: "orders", Size: 2, Nodes: 7, Backend: "push", Arrivals: "poisson:200/s", Workers: 8, Engines: 2, AskedPerS: 200, OfferedPerS: 200, AchievedPerS: 199,
		Phases:    record.LoadPhases{WarmUpNS: 6e9, MeasureNS: 66e9, DrainNS: 67e9, Detected: true, SpanNS: 1e9},
		Measured:  record.LoadCounts{Intended: 12_000, Sent: 11_990, Late: 12, Dropped: 10, Ended: 11_990},
		LatencyNS: record.LoadTimes{Count: 12_000, MeanNS: ns(5e6), P50: ns(3e6), P90: ns(9e6), P99: ns(42e6), P999: ns(88e6), Max: ns(120e6)},
		ServiceNS: record.LoadTimes{Count: 11_990, P50: ns(2e6), P99: ns(40e6)}, LagNS: record.LoadTimes{Count: 12_000, P50: ns(2e4)},
		Asked: record.LoadPercentile{Percentile: 99, ValueNS: ns(42e6), LoNS: ns(40e6), HiNS: ns(44e6)}, Valid: true,
		Objectives: []record.LoadObjective{{Percentile: 99, MostNS: 5e7, ValueNS: ns(42e6), Held: true}},
		Notes:      []string{"The generator and the server shared two cores."},
	}
	for i, name := range []string{"submitted", "ready", "leased", "run", "completed", "ended"} {
		at := int64(3e5 * (i + 1))
		l.Stages = append(l.Stages, record.LoadStage{Name: name, Text: "from the stage before", NS: record.LoadTimes{Count: 12_000, P50: &at, P99: ns(at * 9)}})
	}
	for i := range 67 {
		wave := 1 + 0.3*math.Sin(float64(i)/5)
		l.Intervals = append(l.Intervals, record.LoadInterval{FromNS: int64(i) * 1e9, ToNS: int64(i+1) * 1e9, Intended: int(200 * wave), Offered: int(200 * wave), Achieved: int(198 * wave),
			Backlog: int(20 * wave), P50NS: ns(int64(3e6 * wave)), P99NS: ns(int64(4e7 * wave * wave)), StageP50s: []*int64{ns(1), ns(2), ns(3), ns(4), ns(5), ns(6)}, Measured: i >= 6 && i < 66})
	}
	return l
}

// disturbed has a minute with faults of several kinds.
func disturbed() *record.Chaos {
	c := &record.Chaos{
		Verdict: "fail", Why: []string{"I8: an instance is lost"}, Backend: "push", Engines: 2, Seed: 7, Instances: 40, Completions: 400,
		Faults: map[string]int{}, LeftOut: map[string]string{"process.pause": "not here"}, Repeat: "pulley chaos --replay x",
		Recovery: record.Recovery{RecoveryTimes: record.RecoveryTimes{Faults: 12}, RateWas: 100, BoundMS: 3000, Kinds: map[string]record.RecoveryTimes{}, Verdicts: []record.RecoveryVerdict{{
			Kind: "postgres.kill", What: "95 % of the earlier rate", Bound: "5 s", BoundMS: 5000, Faults: 2, Decided: 2, P99: 7000,
			Verdict: record.RecoveryMissed, Beyond: []string{"postgres.kill at 2.1 s: late"},
		}}},
		Timeline: record.Timeline{WindowMS: 100},
		Soak: &record.Soak{Method: "medians", EveryS: 1, Growth: []record.Growth{
			{Name: "tables", Unit: "bytes", Begin: 1e6, End: 3e6, Judged: true}, {Name: "goroutines", Begin: 10, End: 10, Within: true},
		}},
	}
	c.Facts = []string{"40 instances of fanout were submitted at 20 a second.", "A lease lasts 2 s."}
	groups := []string{"postgres.kill", "process.kill", "process.pause", "network.cut"}
	for i := range 600 {
		n := 12 + int(4*math.Sin(float64(i)/9))
		if i%120 >= 100 {
			n /= 6
		}
		c.Timeline.Completions = append(c.Timeline.Completions, n)
		if i%120 == 98 {
			at := float64(i * 100)
			c.Timeline.Faults = append(c.Timeline.Faults, record.FaultTime{Kind: groups[i/120%len(groups)], BeginMS: at, EndMS: at + 700})
		}
	}
	for i, g := range groups {
		p := record.RecoveryPercentiles{N: 3, P50: 400 * float64(i+1), P99: 1500 * float64(i+1), Max: 1600 * float64(i+1)}
		c.Faults[g], c.Recovery.Kinds[g] = 3, record.RecoveryTimes{Faults: 3, First: p, Rate: p, Recovered: p, Finished: p}
	}
	c.Timeline.Samples = &record.TimelineSamples{WindowMS: 1000, Waits: []record.WaitSeries{{Name: record.WaitRunning}, {Name: "LWLock:WALWrite"}, {Name: "Lock:transactionid"}}}
	for i := range 60 {
		down := i%12 == 10
		c.Timeline.Samples.Open = append(c.Timeline.Samples.Open, ptr(20+15*math.Sin(float64(i)/3)))
		for j := range c.Timeline.Samples.Waits {
			v := ptr(1 + math.Sin(float64(i+7*j)/4))
			if down {
				v = nil
			}
			c.Timeline.Samples.Waits[j].Sessions = append(c.Timeline.Samples.Waits[j].Sessions, v)
		}
	}
	at, values := []float64{}, []*float64{}
	for i := range 60 {
		at, values = append(at, float64(i)), append(values, ptr(1e6+2e4*float64(i%17)))
	}
	c.Soak.Series = []record.SoakSeries{{Name: "tables", Unit: "bytes", AtS: at, Values: values}, {Name: "goroutines", AtS: at, Values: values}}
	return c
}

// simRecord has a violation, whose steps are drawn.
func simRecord() *verdicts.SimRecord {
	c := &record.SimCase{Why: "I3: a stale completion was applied", Backend: "push", Bug: "stale-applied", Seed: 7, Source: "fn main():\n    return 1\n", Input: []byte(`{"n": 3}`), Engines: 2}
	return &verdicts.SimRecord{
		Sim: &record.Sim{Command: []string{"pulley", "sim", "--backend", "push"}, Tool: record.Tool{Name: "pulley", Version: "v0.1.0"}, Searches: []record.SimSearch{
			{Backend: "push", Seeds: 1000, Steps: 300_000, VirtualSeconds: 5000, Seconds: 12, Faults: map[string]int{"crash": 40, "partition": 12}, Never: []string{"clock.jump"}, Violation: &record.SimViolation{Seed: 7, Why: []string{c.Why}, Case: "case.json"}},
			{Backend: "pull", Seeds: 1000, Steps: 280_000, VirtualSeconds: 5000, Seconds: 11, Faults: map[string]int{"crash": 38}},
		}},
		Case: c, Drawing: []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 120" width="640" height="120"><path d="M20 30H620M20 90H620M200 30L320 90" stroke="#0067a8" fill="none"/><text x="20" y="20" font-size="12">engine 1</text><text x="20" y="80" font-size="12">engine 2</text></svg>`),
		Steps: "0 ms  engine 1  submits\n3 ms  engine 2  completes\n", Coverage: "crash  40\n",
	}
}

func night() *record.Night {
	n := &record.Night{Began: synthStart, Night: "8h", Seconds: 28_000, Revision: "0123456789ab", Machine: "2 cores", Verdict: record.NightFail, Ended: true}
	for i, part := range []string{"tests", "seeds", "chaos", "benchmarks"} {
		p := &record.NightPart{Part: part, About: "as deep as a night allows", Verdict: record.NightPass, Budget: 7200, Seconds: 7000, Counts: []record.NightCount{{What: "seeds", N: int64(40_000 * (i + 1))}}}
		if i == 2 {
			p.Verdict, p.Notes = record.NightFail, []string{"1 case is kept"}
		}
		n.Parts = append(n.Parts, p)
	}
	return n
}

func gateReport() *gate.Report {
	r := &gate.Report{Outcome: gate.Regression, Sentence: "fanout/push/100 is slower by 12 %.", Baseline: "out/before", Candidate: "out/after", Alpha: 0.05, Margin: 0.03, Paired: true,
		Doubts: []string{"chain/pull/100 nodes_per_s: the interval reaches 1.09"}, OnlyBaseline: []string{"loop/eager/32"}, Notes: []string{"12 runs on each side"}}
	for i, d := range []record.Decision{record.Worse, record.Same, record.Better, record.Unclear, record.Same, record.Same, record.Same, record.Same} {
		middle := []float64{1.12, 1, 0.9, 1.05, 1.01, 0.99, 1, 1.02}[i]
		r.Lines = append(r.Lines, gate.Line{Key: gate.Key{Row: fmt.Sprintf("fanout/push/%d", 10*(i+1)), Figure: "time per node"}, Unit: "µs", Baseline: ptr(100.0), Candidate: ptr(100 * middle),
			BaselineRuns: 12, CandidateRuns: 12, Ratio: &record.Spread{Median: middle, Lo: middle * 0.97, Hi: middle * 1.04}, P: ptr(0.002 * float64(i+1)), Worst: ptr(middle * 1.05), Decision: d})
	}
	r.Lines = append(r.Lines, gate.Line{Key: gate.Key{Row: "loop/push/8", Figure: "WAL per node"}, Unit: "B", NotCompared: "too few runs", Decision: record.Unclear})
	return r
}

func historyReport() *history.Report {
	r := &history.Report{History: "history.ndjson", Runs: 40, Skipped: []history.Skipped{{Line: 7, Why: "the run was invalid"}}}
	for i, figure := range []string{"nodes_per_s", "hop_p50_ns", "wal_bytes_per_node", "rows_read_per_node"} {
		level := []float64{4000, 3.1e5, 820, 3.2}[i]
		f := history.Finding{Key: history.Key{Scenario: "fanout", Design: "push", Size: 100, Mode: "saturated", Figure: figure, Machine: "a machine", Server: "15.18"}, Runs: 40, Enough: i != 3,
			First: synthStart, Last: synthStart.Add(40 * 24 * time.Hour), Level: level, LastValue: level}
		for j := range 40 {
			v := level * (1 + 0.04*math.Sin(float64(7*j+i)))
			if i == 1 && j >= 25 {
				v *= 1.2
			}
			f.Values = append(f.Values, v)
		}
		if i == 1 {
			f.Changes = []history.Change{{Index: 25, Before: history.Place{Time: synthStart, Revision: "0123456789ab"}, After: history.Place{Time: synthStart, Revision: "fedcba987654"}, RunsBefore: 25, RunsAfter: 15,
				LevelBefore: level, LevelAfter: level * 1.2, Ratio: &history.Ratio{Estimate: 1.2, Lo: 1.17, Hi: 1.23}, Direction: history.Worse, Recent: true}}
		}
		r.Series = append(r.Series, f)
	}
	return r
}

type forecast struct {
	Forecast *record.Forecast
	Gantt    []byte
}

func forecastRecord() *forecast {
	around := func(v float64) record.Spread { return record.Spread{Median: v, Lo: 0.94 * v, Hi: 1.07 * v} }
	times := func(v float64) record.ForecastTimes {
		return record.ForecastTimes{Mean: around(v), P50: around(0.8 * v), P90: around(2 * v), P99: around(5 * v), Max: around(9 * v)}
	}
	return &forecast{&record.Forecast{
		Command: []string{"pulley", "forecast", "fanout=500", "--workers", "16", "--service", "exp:10ms"}, Tool: &record.Tool{Name: "pulley", Version: "v0.1.0"}, Scenario: "fanout=500", Workers: 16, Instances: 40,
		Service: []string{"exp:10ms"}, Arrivals: "poisson:3/s", Latency: "const:1ms", Seed: 1, Runs: 10, Attempts: 20_040, Completed: 40, Confidence: 0.98,
		MakespanMS: around(13_400), WorkMS: around(200_000), Utilisation: record.Spread{Median: 0.93, Lo: 0.9, Hi: 0.95}, SpeedUp: around(14.9), InSystem: around(3), InQueue: around(700), Waiting: times(120), Latencies: times(900),
		Bounds: record.ForecastBounds{CriticalPathMS: ptr(around(80)), AreaMS: around(12_500), LowerMS: around(12_500), UpperMS: ptr(around(14_100))}, Warnings: []string{"calls of the store take time"},
		Measured: &record.Measured{Dir: "out/fanout", Tool: "pulley v0.1.0", Host: "linux/amd64, Imaginary CPU @ 2.50GHz, 2 cores", Differs: []string{"8 workers there, 16 simulated"}, Rows: []record.MeasuredTimes{
			{Name: "push", Instances: 2400, P50MS: ptr(790.0), P90MS: ptr(1900.0), P99MS: ptr(5900.0), MaxMS: ptr(9100.0)}, {Name: "pull", P50MS: ptr(1400.0), P99MS: ptr(8900.0)},
		}},
	}, []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 90" width="640" height="90"><path d="M40 10H300V30H40zM310 10H600V30H310zM40 50H500V70H40z" fill="#0067a8"/><text x="4" y="25" font-size="12">1</text><text x="4" y="65" font-size="12">2</text></svg>`)}
}

type beside struct{ Before, After *record.Manifest }

// twoRecords are of three designs, one of which got slower at its tail.
func twoRecords() *beside {
	of := func(version string, slower float64) *record.Manifest {
		m := &record.Manifest{Command: []string{"pulley", "compare", "fanout", "--out", version}, Host: record.Host{OS: "linux", Arch: "amd64", CPU: "Imaginary CPU @ 2.50GHz", Cores: 2}, Tool: record.Tool{Name: "pulley", Version: version},
			Postgres: &record.Postgres{Version: "15.18", VersionNum: 150018, Settings: []record.Setting{{Name: "wal_level", Value: version}}}, Scenarios: []string{"fanout"}, Sizes: []int{100}, Backends: []string{"push", "pull", "journal"}, Runs: 10}
		for j, backend := range m.Backends {
			for run := range 10 {
				x := record.Sample{Scenario: "fanout", Backend: backend, Size: 100, Mode: record.ModeAlone, Run: run + 1, Instances: 40, Nodes: 102, Valid: true}
				factor := 1 + 0.4*float64(j)
				if backend == "push" {
					factor *= slower
				}
				for i := range 40 {
					at := factor * (1 + 0.02*float64(i) + 0.01*math.Sin(float64(7*run+i))) * 5e6
					x.InstanceNS, x.ElapsedNS = append(x.InstanceNS, int64(at)), x.ElapsedNS+int64(at)
				}
				x.NodesPerS = float64(40*102) / (float64(x.ElapsedNS) / 1e9)
				m.Samples = append(m.Samples, x)
			}
		}
		return m
	}
	return &beside{of("v0.1.0", 1), of("v0.2.0", 1.3)}
}

func selfTest() *gate.SelfTest {
	return &gate.SelfTest{Command: []string{"pulley", "gate", "--self-test", "--disturb"}, Pairs: 40, Disturbed: true, Seed: 1, Results: []gate.Planted{
		{Planted: gate.NothingPlanted, Tries: 100, Found: 2, Inconclusive: 7, Needed: "less than 5", OK: true, SecondsATry: 11.2}, {Planted: "5%", Tries: 20, Found: 9, Inconclusive: 3, Needed: "10 or more", SecondsATry: 11.5},
		{Planted: "10%", Tries: 20, Found: 19, Needed: "19 or more", OK: true, SecondsATry: 11.1}, {Planted: "25%", Tries: 20, Found: 20, Needed: "19 or more", OK: true, SecondsATry: 11.3}, {Planted: "row", Tries: 20, Found: 20, Needed: "19 or more", OK: true, SecondsATry: 31},
	}}
}

func ceilingReport() *record.CeilingReport {
	c := synthCeilings()
	c.Rates = append(c.Rates, record.CeilingRate{Way: record.CeilingCopy, NodesPerS: record.Spread{Median: 260_000, Lo: 250_000, Hi: 266_000}, Batch: 1000, Connections: 4, Points: []record.CeilingPoint{
		{Batch: 1000, Connections: 1, NodesPerS: []float64{120_000, 124_000}}, {Batch: 1000, Connections: 2, NodesPerS: []float64{201_000, 204_000}}, {Batch: 1000, Connections: 4, NodesPerS: []float64{250_000, 266_000}},
	}})
	return &record.CeilingReport{
		Command: []string{"pulley", "ceiling", "--duration", "30s"}, Tool: record.Tool{Name: "pulley", Version: "v0.1.0"}, Host: record.Host{OS: "linux", Arch: "amd64", CPU: "Imaginary CPU @ 2.50GHz", Cores: 2},
		Postgres: &record.Postgres{Way: "local binaries", Version: "15.18", VersionNum: 150018, Settings: []record.Setting{{Name: "fsync", Value: "on"}}}, StartedAt: synthStart, EndedAt: synthStart.Add(30 * time.Second),
		Methods: []record.Method{{Figure: "ceilings", Text: "by a client without an engine"}, {Figure: "idle", Text: "one call after the other"}}, Ceilings: c,
	}
}

func claimsReport() *claim.Report {
	figure := func(name, unit string, bound claim.Bound, claimed float64, values ...float64) claim.Figure {
		return claim.Figure{Name: name, Unit: unit, Bound: bound, Claimed: claimed, Tolerance: claimed / 20}.Measure(values)
	}
	r := &claim.Report{Command: []string{"pulley", "claims"}, Tool: record.Tool{Name: "pulley", Version: "v0.1.0"}, Host: record.Host{CPU: "Imaginary CPU @ 2.50GHz", Cores: 2}, Postgres: &record.Postgres{Version: "15.18"}, StartedAt: synthStart}
	for _, c := range []claim.Claim{
		{ID: "speedup-100", Text: "A workflow of 100 nodes is 100 times as cheap to push as to pull.", Source: "Push scheduling, Scaling Comparison", Figures: []claim.Figure{figure("rows read, pull / push", "×", claim.AtLeast, 100, 31, 33, 35, 32, 36, 31), figure("time, pull / push", "×", claim.AtLeast, 100, 4, 4.4, 3.8, 4.1, 4, 4.2)}},
		{ID: "linear", Text: "The cost of a workflow grows as its nodes.", Source: "goals", Figures: []claim.Figure{figure("exponent of time", "", claim.About, 1, 1.01, 1, 0.99, 1.01, 1, 1), figure("exponent of rows read", "", claim.AtMost, 1.03, 1, 1.05, 1, 1, 1.01, 1)}},
		{ID: "dispatch", Text: "From pending to dispatched a task waits 0 to 5 s.", Source: "Tech stack", Figures: []claim.Figure{figure("longest wait", "s", claim.AtMost, 5, 0.4, 0.5, 0.6, 0.4, 0.5, 0.5), figure("median", "ms", claim.Alongside, 0, 3, 4, 5, 4, 3, 3)}},
		{ID: "river-jobs", Text: "River published 46,000 jobs/s.", Source: "https://riverqueue.com/docs/benchmarks", Verdict: claim.OursOnly, Published: &claim.Published{By: "River", Date: "2024-03", Shape: "a million jobs that do nothing", Hardware: "MacBook Air", Durability: "not said"},
			Figures: []claim.Figure{figure("jobs/s, push", "jobs/s", claim.Alongside, 0, 9000, 9100, 9050, 9020, 9010, 9000)}},
		{ID: "lost", Text: "Nothing is measured of this one.", Source: "goals", Figures: []claim.Figure{claim.Figure{Name: "rate", Unit: "/s", Bound: claim.AtLeast, Claimed: 1}.Missing("no valid run has it")}},
	} {
		c.Method, c.Command = "Medians over runs, with order-statistic intervals.", "pulley claims --only "+c.ID
		r.Claims = append(r.Claims, c.Judge())
	}
	return r
}

// attacks would set x, or open a dialog, in each context that a text of a record could reach.
var attacks = []string{
	`<script>window.x=1</script>`, `</script><script>window.x=1</script>`, `"><img src=x onerror="window.x=1">`, `<svg onload=window.x=1><a id=evil>`, `</title></style><b id=evil>bold</b>`,
	`javascript:alert(1)`, `' onmouseover='alert(1)`, `${alert(1)}`, `{{.Title}}`, `]]><!--`, "\u2028alert(1)\u2029\x00\x1b[2J", strings.Repeat("long", 100),
}

// decisive are fields whose words decide what a page shows; with others, it shows less.
var decisive = []string{"Kind", "Verdict", "Bound", "Planted", "Way", "Decision", "Outcome", "Direction", "Unit", "Mode", "Figure"}

// poison replaces every text of a record, those in decisive fields only if all. Texts that were equal stay equal.
func poison(v reflect.Value, all bool, seen map[string]string) {
	evil := func(old string) string {
		if _, ok := seen[old]; !ok {
			seen[old] = fmt.Sprintf("%s %d", attacks[len(seen)%len(attacks)], len(seen))
		}
		return seen[old]
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem(), all, seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && (all || !slices.Contains(decisive, v.Type().Field(i).Name)) {
				poison(v.Field(i), all, seen)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), all, seen)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			poison(value, all, seen)
			if all && key.Kind() == reflect.String {
				v.SetMapIndex(key, reflect.Value{})
				key = reflect.ValueOf(evil(key.String())).Convert(key.Type())
			}
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if v.CanSet() && v.String() != "" {
			v.SetString(evil(v.String()))
		}
	}
}
