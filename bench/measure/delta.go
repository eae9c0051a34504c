package measure

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pulley/internal/plural"
	"pulley/reports/record"
)

// Delta returns what the server counted between two snapshots of one scope on one connection, and warnings: about disturbances,
// and why a figure is null. Warnings are full sentences without a full stop.
func Delta(before, after *Counters) (record.Counters, []string) {
	d := delta{before: before, after: after}
	if before.scope.Working || after.scope.Working {
		d.writeTransactions()
		d.wal()
		return d.out, d.warnings
	}
	d.rows()
	d.statements()
	d.transactions()
	d.wal()
	d.completionsPerCommit()
	return d.out, d.warnings
}

type delta struct {
	before, after *Counters
	out           record.Counters
	warnings      []string
}

func (d *delta) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// rows sums up the schema's tables. New tables count from zero.
func (d *delta) rows() {
	b, a := d.before.state, d.after.state
	switch {
	case a.TrackCounts != "on":
		d.warn("rows were not counted: track_counts is off")
		return
	case len(a.Tables) == 0:
		d.warn("rows were not counted: schema %q has no tables that this user may see", d.after.scope.Schema)
		return
	case resets(b.Database.StatsReset, a.Database.StatsReset):
		d.warn("rows were not counted: the statistics were reset during the run")
		return
	}
	old := make(map[int64]table, len(b.Tables))
	for _, t := range b.Tables {
		old[t.OID] = t
	}
	var sum table
	var read int64
	for _, t := range a.Tables {
		grown := t.minus(old[t.OID])
		delete(old, t.OID)
		if grown.lowest() < 0 {
			d.warn("rows were not counted: the statistics of a table were reset during the run")
			return
		}
		sum = sum.plus(grown)
		read += grown.SeqRowsRead + grown.IndexRowsFetched
	}
	if len(old) > 0 {
		d.warn("rows were not counted: %d tables of schema %q were dropped during the run", len(old), d.after.scope.Schema)
		return
	}
	d.out.RowsRead, d.out.SeqRowsRead = &read, &sum.SeqRowsRead
	d.out.IndexRowsFetched, d.out.IndexEntriesRead = &sum.IndexRowsFetched, &sum.IndexEntriesRead
	d.out.RowsInserted, d.out.RowsUpdated = &sum.Inserted, &sum.Updated
	d.out.RowsHOTUpdated, d.out.RowsDeleted = &sum.HOTUpdated, &sum.Deleted
	if a.major() < exactVersion {
		d.warn("rows and commits may fall short: before Postgres 15 the server's statistics lag by up to half a second")
	}
}

func (t table) minus(o table) table {
	return table{t.OID, t.SeqRowsRead - o.SeqRowsRead, t.IndexRowsFetched - o.IndexRowsFetched,
		t.IndexEntriesRead - o.IndexEntriesRead, t.Inserted - o.Inserted, t.Updated - o.Updated,
		t.HOTUpdated - o.HOTUpdated, t.Deleted - o.Deleted}
}

func (t table) plus(o table) table {
	return table{0, t.SeqRowsRead + o.SeqRowsRead, t.IndexRowsFetched + o.IndexRowsFetched,
		t.IndexEntriesRead + o.IndexEntriesRead, t.Inserted + o.Inserted, t.Updated + o.Updated,
		t.HOTUpdated + o.HOTUpdated, t.Deleted + o.Deleted}
}

func (t table) lowest() int64 {
	return min(t.SeqRowsRead, t.IndexRowsFetched, t.IndexEntriesRead, t.Inserted, t.Updated, t.HOTUpdated, t.Deleted)
}

func (d *delta) statements() {
	b, a := d.before, d.after
	switch {
	case a.statements == nil:
		d.warn("%s", a.statementsWhy)
	case b.statements == nil:
		d.warn("%s", b.statementsWhy)
	case a.statementsEpoch != b.statementsEpoch || *a.statements < *b.statements:
		d.warn("statements were not counted: pg_stat_statements was reset or threw entries out, raise pg_stat_statements.max")
	default:
		n := *a.statements - *b.statements
		d.out.Statements = &n
	}
}

// transactions subtracts from the server's counts what is not the workload's: the measuring session's transactions between the
// readings, and the one that the server counts per opened session.
func (d *delta) transactions() {
	b, a := d.before.state, d.after.state
	if resets(b.Database.StatsReset, a.Database.StatsReset) || a.Database.Commits < b.Database.Commits {
		d.warn("commits were not counted: the statistics were reset during the run")
		return
	}
	if a.BackendPID != b.BackendPID {
		d.warn("commits were not counted: the two snapshots were taken on different connections")
		return
	}
	commits := a.Database.Commits - b.Database.Commits - (d.after.ourStatements - d.before.ourStatements)
	if a.Database.Sessions != nil && b.Database.Sessions != nil {
		commits -= *a.Database.Sessions - *b.Database.Sessions
	} else {
		d.warn("commits include one for each session that was opened: this server does not count sessions")
	}
	commits = max(commits, 0) // Before Postgres 15, our transactions may not be counted yet.
	rollbacks := a.Database.Rollbacks - b.Database.Rollbacks
	d.out.Commits, d.out.Rollbacks = &commits, &rollbacks
	if deadlocks := a.Database.Deadlocks - b.Database.Deadlocks; deadlocks >= 0 {
		d.out.Deadlocks = &deadlocks
	}

	d.writeTransactions()
}

func (d *delta) writeTransactions() {
	oldXID, errB := strconv.ParseInt(d.before.state.NextXID, 10, 64)
	newXID, errA := strconv.ParseInt(d.after.state.NextXID, 10, 64)
	if errA == nil && errB == nil && newXID >= oldXID {
		n := newXID - oldXID
		d.out.WriteTransactions = &n
	}
}

func (d *delta) wal() {
	b, errB := position(d.before.state.WALBytes)
	a, errA := position(d.after.state.WALBytes)
	switch {
	case d.before.state.InRecovery || d.after.state.InRecovery:
		d.warn("WAL was not counted: the server is a standby")
	case errA != nil || errB != nil || a < b:
		d.warn("WAL was not counted: the server did not tell its position")
	default:
		n := a - b
		d.out.WALBytes = &n
	}
	if before, after := d.before.checkpoints, d.after.checkpoints; before != nil && after != nil && *after > *before {
		d.warn("%s during the run: pages touched after it were written to the WAL whole", plural.Of(*after-*before, "checkpoint"))
	}
}

func position(n *json.Number) (int64, error) {
	if n == nil {
		return 0, fmt.Errorf("no position")
	}
	return n.Int64()
}

func (d *delta) completionsPerCommit() {
	b, a := d.before.state, d.after.state
	if n := max(b.ForeignSessions, a.ForeignSessions); n > 0 {
		d.warn("%s connected to this server: WAL bytes, and commits and statements if in this database, are not only the workload's",
			plural.Of(n, "other client")+" "+wasWere(n))
	}
	if b.OtherSessions != nil && a.OtherSessions != nil && *a.OtherSessions > *b.OtherSessions {
		d.warn("%s to other databases during the run: WAL bytes are not only the workload's",
			plural.Of(*a.OtherSessions-*b.OtherSessions, "session")+" opened")
	}
	if a.Maintenance > b.Maintenance {
		d.warn("%s of tables during the run: commits and WAL bytes are not only the workload's",
			plural.Of(a.Maintenance-b.Maintenance, "vacuum or analyze", "vacuums or analyzes"))
	}
}

func wasWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func resets(before, after *string) bool {
	return (before == nil) != (after == nil) || (before != nil && *before != *after)
}
