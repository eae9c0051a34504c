package shadow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// Design is what a shadow has to know of a design.
type Design struct {
	Name             string
	NewDesign        func(*world.World, *pgsim.Memory) pgsim.Design
	Open             func(context.Context, postgres.Config) (Opened, error) // makes the schema
	SchemaStatements []string                                               // statements that settle what the schema leaves open, such as an order; none: nothing
	Cases            uint64                                                 // a quarter of the worlds that have a shadow at night
	Tables           []Table                                                // but for what all designs have of instances
	Fill             string                                                 // a statement before a world, when the tables are empty; $1: its shards
	Sequences        map[string]func(*world.World) int64                    // the last number that each has given in the world
	NotifyChannel    string                                                 // the channel; "": that of all but one
	Loose            map[string]bool                                        // statements that promise no order of what they give
	GeneratedColumns map[string]int                                         // columns, by statements, that are names which only that server gives
}

// Opened is a design that is open.
type Opened interface{ Close() }

// channel is where those listen who want to hear of work.
func (d *Design) channel() string { return cmp.Or(d.NotifyChannel, "pulley_simulated") }

// Tokens is the last token that was given.
func Tokens(w *world.World) int64 { return w.Store.(pgsim.Design).Common().Tokens.Last() }

// Table is a table on both servers, or some of its columns.
type Table struct {
	name    string
	columns []string                                       // as Postgres is asked for them
	rows    func(w *world.World, add func(columns ...any)) // those of what is committed on the simulated server
}

// Rows is a table of a design whose columns are in the text, between spaces, and in the rows of the simulated one.
func Rows[S world.Store, K, V any](name, columns string, of func(S) *db.Table[K, V], row func(key K, value V) []any) Table {
	return Table{name, strings.Fields(columns), func(w *world.World, add func(...any)) {
		of(w.Store.(S)).Committed(func(key K, value V) bool {
			add(row(key, value)...)
			return true
		})
	}}
}

// InstanceRows is Rows of a table by instances, whose columns for that come first.
func InstanceRows[S world.Store, K pgsim.InstanceKey[K], V any](name, columns string, of func(S) *db.Table[K, V], row func(key K, value V) []any) Table {
	t := Table{name: name, columns: append([]string{"shard", "instance_id"}, strings.Fields(columns)...)}
	t.rows = func(w *world.World, add func(...any)) {
		of(w.Store.(S)).Committed(func(key K, value V) bool {
			inst := w.Instances[key.Instance()]
			add(append([]any{inst.Shard, inst.ID}, row(key, value)...)...)
			return true
		})
	}
	return t
}

// Values is InstanceRows of a table of values.
func Values[S world.Store](name, columns string, of func(S) *db.Table[pgsim.ValueKey, json.RawMessage]) Table {
	return InstanceRows(name, columns, of, func(k pgsim.ValueKey, v json.RawMessage) []any { return []any{k.ID, k.Path, k.Element, v} })
}

// instances are what all designs have of them.
var instances = Table{
	"instances", []string{"shard", "id", "workflow", "status", "needs_cleanup", "micros(submitted_at)", "ended_at IS NOT NULL", "input", "result", "failure"},
	func(w *world.World, add func(...any)) {
		w.Store.(pgsim.Design).Common().Instances.Committed(func(_ int32, r pgsim.InstanceRow) bool {
			add(r.Inst.Shard, r.Inst.ID, 1, r.Status, r.NeedsCleanup, Micros(r.Submitted), r.Status != backend.Running, w.Workload.Input, r.Result, failureText(r.Failure))
			return true
		})
	},
}

// all are the tables of a design, with what all have.
func (d *Design) all() []Table { return append([]Table{instances}, d.Tables...) }

// empty is a statement that empties them.
func (d *Design) empty() string {
	names := []string{"incarnation"}
	for _, t := range d.all() {
		names = append(names, t.name)
	}
	return "TRUNCATE " + strings.Join(names, ", ")
}

// query is for all that is committed, a line for each row.
func (d *Design) query() string {
	var each []string
	for _, t := range d.all() {
		each = append(each, fmt.Sprintf("SELECT format('%s', %s) FROM %s", strings.ReplaceAll(t.format(), "'", "''"), strings.Join(t.columns, ", "), t.name))
	}
	return strings.Join(each, " UNION ALL ")
}

// format is that of a line.
func (t *Table) format() string { return t.name + ": " + strings.Join(t.columns, " %s, ") + " %s" }

// rows are the lines of a world.
func (d *Design) rows(w *world.World) (lines []string) {
	for _, t := range d.all() {
		t.rows(w, func(columns ...any) {
			for i, v := range columns {
				columns[i] = column(v)
			}
			lines = append(lines, fmt.Sprintf(t.format(), columns...))
		})
	}
	return lines
}

// column is a value as a line has it: null is nothing.
func column(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *string:
		if v == nil {
			return ""
		}
		return *v
	case *int64:
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	case json.RawMessage:
		return string(v)
	case []byte:
		return string(v)
	}
	return word(0, v)
}
