package record_test

import (
	"testing"

	"pulley/reports/record"
)

func TestSubtract(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	c := record.Counters{RowsRead: n(10), Statements: n(3), WALBytes: n(7)}
	c.Subtract(&record.Counters{RowsRead: n(4), Statements: n(5), Commits: n(1)})
	if *c.RowsRead != 6 || *c.Statements != 0 || *c.WALBytes != 7 || c.Commits != nil {
		t.Errorf("%d, %d, %d, %v", *c.RowsRead, *c.Statements, *c.WALBytes, c.Commits)
	}
}
