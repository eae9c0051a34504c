package postgres

import (
	"io/fs"
	"strings"
)

// Table is what tells the table of a design in which its node runs are while they wait and are leased from those of other designs. Its
// key is shard, instance_id, node and Path; token fences, due_at is when a row may be claimed, and redeliveries counts the leases of
// the attempt that were over when the next began. In conditions, q is a row.
type Table struct {
	Name   string
	Path   string // the column in which a run's path is, or what stands for it
	Ready  string // the condition that it waits for nothing but its time, and has not been completed; it may be leased
	Leased string // the condition that somebody has leased it
	Lease  string // what is set when somebody leases it, $3
	Free   string // what is set when the lease is given up

	// Due are the columns by which rows that are ready are in order.
	Due []string
}

// Queue has the statements that are the same on such tables, and knows those that a design has of its own.
type Queue struct {
	statements       map[string]string // that are the same
	designStatements map[string]string // variants of the design's
	files            fs.FS
}

// queueStatements are the statements that are the same.
var queueStatements = map[string]Variant{
	"renew":     {File: "queue/renew", Parts: []string{"renewed"}},
	"give_back": {File: "queue/renew", Parts: []string{"given back"}},
	"leased":    {File: "queue/leased", Parts: []string{"seen"}},
	"standing":  {File: "queue/leased", Parts: []string{"seen", "running"}},
	"held":      {File: "queue/leased", Parts: []string{"locked"}},
	"claim":     {File: "queue/claim"},
	"next_due":  {File: "queue/next_due"},
	"overdue":   {File: "queue/overdue"},
	"release":   {File: "queue/release"},
}

// NewQueue makes the statements for a table. A design's own are files in its directory sql, or variants of those.
func NewQueue(t Table, files fs.FS, own map[string]Variant) *Queue {
	due := strings.Join(t.Due, ", ")
	names := []string{"{table}", t.Name, "{path}", t.Path, "{ready}", t.Ready, "{leased}", t.Leased,
		"{lease}", t.Lease, "{free}", t.Free, "{due}", due, "{latest}", strings.ReplaceAll(due, ",", " DESC,") + " DESC"}
	q := &Queue{map[string]string{}, map[string]string{}, files}
	for name, v := range queueStatements {
		v.Names = names
		q.statements[name] = v.text(statementFiles)
	}
	for name, v := range own {
		q.designStatements[name] = v.text(files)
	}
	return q
}

// SQL gives a statement, as it is sent, by its name. Where a design has one of that name of its own, it is that.
func (q *Queue) SQL(name string) (string, error) {
	if text, ok := q.designStatements[name]; ok {
		return text, nil
	}
	text, err := Statement(q.files, name)
	if err != nil && q.statements[name] != "" {
		return q.statements[name], nil
	}
	return text, err
}

// MustSQL gives a statement that is part of the program.
func (q *Queue) MustSQL(name string) string {
	text, err := q.SQL(name)
	if err != nil {
		panic(err)
	}
	return text
}
