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

// Design is what a shadow needs to know of a design.
type Design struct {
	Name             string
	NewDesign        func(*world.World, *pgsim.Memory) pgsim.Design
	Open             func(context.Context, postgres.Config) (Opened, error) // makes the schema
	SchemaStatements []string                                               // fix what the schema leaves open, such as an order; nil: nothing
	Cases            uint64                                                 // a quarter of the nightly number of worlds
	Tables           []Table                                                // besides those of all designs
	Fill             string                                                 // run before a world, when the tables are empty; $1: number of shards
	Sequences        map[string]func(*world.World) int64                    // the last number that each has given in the world
	NotifyChannel    string                                                 // of notifications; "": the one that most designs use
	Loose            map[string]bool                                        // statements whose rows have no defined order
	GeneratedColumns map[string]int                                         // by statement: the column with names that only the real server generates
}

// Opened is an opened design.
type Opened interface{ Close() }

func (d *Design) channel() string { return cmp.Or(d.NotifyChannel, "pulley_simulated") }

// Tokens returns the last token drawn.
func Tokens(w *world.World) int64 { return w.Store.(pgsim.Design).Common().Tokens.Last() }

// Table is a table on both servers, or some of its columns.
type Table struct {
	name    string
	columns []string                                       // as in a query to Postgres
	rows    func(w *world.World, add func(columns ...any)) // the committed rows on the simulated server
}

// Rows makes a table from its columns, separated by spaces, and its simulated rows.
func Rows[S world.Store, K, V any](name, columns string, of func(S) *db.Table[K, V], row func(key K, value V) []any) Table {
	return Table{name, strings.Fields(columns), func(w *world.World, add func(...any)) {
		of(w.Store.(S)).Committed(func(key K, value V) bool {
			add(row(key, value)...)
			return true
		})
	}}
}

// InstanceRows is Rows for a table with rows of instances, whose columns come first.
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

// Values is InstanceRows for a table of values.
func Values[S world.Store](name, columns string, of func(S) *db.Table[pgsim.ValueKey, json.RawMessage]) Table {
	return InstanceRows(name, columns, of, func(k pgsim.ValueKey, v json.RawMessage) []any { return []any{k.ID, k.Path, k.Element, v} })
}

var instances = Table{
	"instances", []string{"shard", "id", "workflow", "status", "needs_cleanup", "micros(submitted_at)", "ended_at IS NOT NULL", "input", "result", "failure"},
	func(w *world.World, add func(...any)) {
		w.Store.(pgsim.Design).Common().Instances.Committed(func(_ int32, r pgsim.InstanceRow) bool {
			add(r.Inst.Shard, r.Inst.ID, 1, r.Status, r.NeedsCleanup, Micros(r.Submitted), r.Status != backend.Running, w.Workload.Input, r.Result, failureText(r.Failure))
			return true
		})
	},
}

func (d *Design) all() []Table { return append([]Table{instances}, d.Tables...) }

func (d *Design) empty() string {
	names := []string{"incarnation"}
	for _, t := range d.all() {
		names = append(names, t.name)
	}
	return "TRUNCATE " + strings.Join(names, ", ")
}

func (d *Design) query() string {
	var each []string
	for _, t := range d.all() {
		each = append(each, fmt.Sprintf("SELECT format('%s', %s) FROM %s", strings.ReplaceAll(t.format(), "'", "''"), strings.Join(t.columns, ", "), t.name))
	}
	return strings.Join(each, " UNION ALL ")
}

func (t *Table) format() string { return t.name + ": " + strings.Join(t.columns, " %s, ") + " %s" }

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
