package postgres

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/queue/*.sql
var queueFiles embed.FS

// Table is what tells the table of a design in which its node runs are while they wait and are leased from those of other designs. Its
// key is shard, instance_id, node and Path; token fences, and due_at is when a row may be claimed. In conditions, q is a row.
type Table struct {
	Name   string
	Path   string // the column in which a run's path is, or what stands for it
	Leased string // the condition that somebody has leased it
}

// Queue has the statements that are the same on such tables.
type Queue struct{ statements map[string]string }

// queueStatements are the statements by name: of which file each is, and with which of its parts.
var queueStatements = map[string][]string{
	"renew":    {"renew"},
	"leased":   {"leased", "seen"},
	"standing": {"leased", "seen", "running"},
	"held":     {"leased", "locked"},
}

// NewQueue makes the statements for a table.
func NewQueue(t Table) *Queue {
	names := strings.NewReplacer("{table}", t.Name, "{path}", t.Path, "{leased}", t.Leased)
	q := &Queue{map[string]string{}}
	for name, from := range queueStatements {
		text, err := queueFiles.ReadFile("sql/queue/" + from[0] + ".sql")
		if err != nil {
			panic(err) // the files are part of the program
		}
		q.statements[name] = leaveOut(names.Replace(string(text)), func(part string) bool { return slices.Contains(from[1:], part) })
	}
	return q
}

// Statement gives a statement, as it is sent, by its name: one of the queue, or the file of that name among those in a design's directory sql.
func (q *Queue) Statement(files fs.FS, name string) (string, error) {
	if text, ok := q.statements[name]; ok {
		return text, nil
	}
	return Statement(files, name)
}

// Leased adds the statement that finds out which leases stand, and puts their ords into a set. Nothing is locked.
func (q *Queue) Leased(batch *pgx.Batch, shard int, l *Leases, into map[int32]bool) {
	batch.Queue(q.statements["leased"], l.Parameters(shard)...).Query(func(rows pgx.Rows) error { return takeOrds(rows, into) })
}
