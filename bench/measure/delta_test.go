package measure

import (
	"encoding/json"
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func counters(version int) *Counters {
	return &Counters{
		scope: Scope{Schema: "s", AppPrefix: "a"}, statements: ptr(int64(10)), statementsEpoch: "0", checkpoints: ptr(int64(1)),
		state: state{
			VersionNum: version, BackendPID: 7, WALBytes: ptr(json.Number("1000")), NextXID: "500", TrackCounts: "on",
			Database: database{Commits: 100, Rollbacks: 1, Sessions: ptr(int64(3))}, OtherSessions: ptr(int64(0)),
			Tables: []table{{OID: 1, SeqRowsRead: 5}},
		},
	}
}

// No test can start these servers: standbys, old versions, resets.
func TestDeltaOfWhatCannotBeMeasured(t *testing.T) {
	cases := map[string]struct {
		corrupt func(before, after *Counters)
		want    string
		null    func(d *delta) bool
	}{
		"standby": {func(_, a *Counters) { a.state.InRecovery, a.state.WALBytes = true, nil }, "standby",
			func(d *delta) bool { return d.out.WALBytes == nil }},
		"no position": {func(_, a *Counters) { a.state.WALBytes = nil }, "did not tell its position",
			func(d *delta) bool { return d.out.WALBytes == nil }},
		"old server": {func(b, a *Counters) { b.state.VersionNum, a.state.VersionNum = 130004, 130004 }, "lag by up to half a second",
			func(d *delta) bool { return d.out.RowsRead != nil }},
		"no sessions": {func(b, a *Counters) { b.state.Database.Sessions, a.state.Database.Sessions = nil, nil }, "include one for each session",
			func(d *delta) bool { return d.out.Commits != nil }},
		"track_counts": {func(_, a *Counters) { a.state.TrackCounts = "off" }, "track_counts is off",
			func(d *delta) bool { return d.out.RowsRead == nil }},
		"table reset": {func(_, a *Counters) { a.state.Tables[0].SeqRowsRead = 4 }, "statistics of a table were reset",
			func(d *delta) bool { return d.out.RowsRead == nil }},
		"thrown out": {func(_, a *Counters) { a.statementsEpoch = "1" }, "threw entries out",
			func(d *delta) bool { return d.out.Statements == nil }},
		"refused": {func(_, a *Counters) { a.statements, a.statementsWhy = nil, "statements were not counted: no right" }, "no right",
			func(d *delta) bool { return d.out.Statements == nil }},
		"refused first": {func(b, _ *Counters) { b.statements, b.statementsWhy = nil, "statements were not counted: no right" }, "no right",
			func(d *delta) bool { return d.out.Statements == nil }},
		"other database": {func(_, a *Counters) { a.state.OtherSessions = ptr(int64(2)) }, "2 sessions opened to other databases",
			func(d *delta) bool { return d.out.WALBytes != nil }},
		"checkpoints": {func(_, a *Counters) { a.checkpoints = ptr(int64(3)) }, "2 checkpoints during the run",
			func(d *delta) bool { return d.out.WALBytes != nil }},
		"own not in yet": {func(_, a *Counters) { a.ourStatements = 50 }, "", func(d *delta) bool { return *d.out.Commits == 0 }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := counters(150000), counters(150000)
			c.corrupt(before, after)
			out, warnings := Delta(before, after)
			all := strings.Join(warnings, "\n")
			if !strings.Contains(all, c.want) {
				t.Errorf("want %q in %q", c.want, all)
			}
			if (c.want == "") != (all == "") {
				t.Errorf("warnings: %q", all)
			}
			if !c.null(&delta{out: out}) {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestMajorVersionOfOddServers(t *testing.T) {
	for number, want := range map[int]int{150018: 15, 130004: 13, 170000: 17} {
		if got := (&state{VersionNum: number}).major(); got != want {
			t.Errorf("%d: got %d", number, got)
		}
	}
}
