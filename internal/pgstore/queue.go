package pgstore

import (
	"io/fs"
	"strings"
)

// Table describes a design's table of node runs that wait or are leased. Its key is shard, instance_id, node and Path. token
// fences; due_at is when a row may be claimed; redeliveries counts the attempt's expired leases before the current one. In
// conditions, q is a row.
type Table struct {
	Name   string
	Path   string // the column of the path, or of what stands for it
	Ready  string // the condition that it may be leased once due
	Leased string // the condition that it is leased
	Lease  string // what a lease by $3 sets
	Free   string // what the return of a lease sets

	// Due are the columns that order ready rows.
	Due []string
}

// Queue has the shared statements on a Table, and a design's own.
type Queue struct {
	statements       map[string]string // shared
	designStatements map[string]string // variants of the design's files
	files            fs.FS
}

var queueStatements = map[string]Variant{
	"renew":        {File: "queue/renew", Parts: []string{"renewed"}},
	"give_back":    {File: "queue/renew", Parts: []string{"given back"}},
	"leased":       {File: "queue/leased", Parts: []string{"seen"}},
	"standing":     {File: "queue/leased", Parts: []string{"seen", "running"}},
	"held":         {File: "queue/leased", Parts: []string{"locked"}},
	"claim":        {File: "queue/claim"},
	"claim_urgent": {File: "queue/claim", Parts: []string{"urgent"}},
	"next_due":     {File: "queue/next_due"},
	"overdue":      {File: "queue/overdue"},
	"release":      {File: "queue/release"},
	"make_due":     {File: "queue/make_due"},
}

// NewQueue makes the statements for a table. A design's own are files in its directory sql, or variants of them.
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

// SQL returns a statement, as it is sent, by its name. A design's own statements come first.
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

// MustSQL returns a statement that must exist.
func (q *Queue) MustSQL(name string) string {
	text, err := q.SQL(name)
	if err != nil {
		panic(err)
	}
	return text
}
