package shadow

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"pulley/engine/plan"
	"pulley/sim/db"
	"pulley/sim/pgsim"
)

func statementsOf(batch []db.Statement) (out []*pgsim.Statement) {
	for _, s := range batch {
		if a, ok := s.(*pgsim.Statement); ok && a.SQL != "" {
			out = append(out, a)
		}
	}
	return out
}

func texts(batch []db.Statement) string {
	var names []string
	for _, a := range statementsOf(batch) {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

type returned struct {
	fields   []pgconn.FieldDescription
	rows     [][][]byte
	binary   bool
	affected int64
	err      error
}

func sends(batch []db.Statement) bool {
	return len(statementsOf(batch)) > 0 || slices.ContainsFunc(batch, func(s db.Statement) bool { return controlSQL[s] != "" })
}

var controlSQL = map[db.Statement]string{db.Begin: "BEGIN", db.Commit: "COMMIT", db.Rollback: "ROLLBACK"}

func replies(c *pgx.Conn, batch []db.Statement) (out []returned) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*realTimeout)
	defer cancel()
	for _, s := range batch {
		var r returned
		if a, ok := s.(*pgsim.Statement); !ok && controlSQL[s] != "" {
			if _, r.err = c.Exec(ctx, controlSQL[s]); r.err == nil {
				continue
			}
		} else if !ok || a.SQL == "" {
			continue
		} else {
			r = execStatement(ctx, c, a)
		}
		if out = append(out, r); r.err != nil {
			break
		}
	}
	return out
}

func execStatement(ctx context.Context, c *pgx.Conn, a *pgsim.Statement) (r returned) {
	if a.Params != nil {
		if _, r.err = c.Prepare(ctx, a.Name, a.SQL); r.err != nil {
			return r
		}
		binary := []int16{pgx.BinaryFormatCode}
		got := c.PgConn().ExecPrepared(ctx, a.Name, a.Params, binary, binary).Read()
		return returned{rows: got.Rows, binary: true, affected: got.CommandTag.RowsAffected(), err: got.Err}
	}
	rows, err := c.Query(ctx, a.SQL, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, a.Args...)...)
	if err != nil {
		return returned{err: err}
	}
	defer rows.Close()
	r.fields = slices.Clone(rows.FieldDescriptions())
	for rows.Next() {
		row := make([][]byte, len(r.fields))
		for i, v := range rows.RawValues() {
			row[i] = slices.Clone(v)
		}
		r.rows = append(r.rows, row)
	}
	r.err = rows.Err()
	r.affected = rows.CommandTag().RowsAffected()
	return r
}

func (r returned) lines() (out []string) {
	for _, row := range r.rows {
		var words []string
		for _, v := range row {
			switch {
			case v == nil:
				words = append(words, "null")
			case r.binary:
				words = append(words, hex.EncodeToString(v))
			default:
				words = append(words, string(v))
			}
		}
		if len(words) > 0 {
			out = append(out, strings.Join(words, " | "))
		}
	}
	return out
}

func (r returned) simulated(a *pgsim.Statement) (out []string) {
	if r.binary {
		return returned{rows: [][][]byte{a.Wire}, binary: true}.lines()
	}
	for _, row := range a.Out.List {
		var words []string
		for i, v := range row {
			oid := uint32(0)
			if i < len(r.fields) {
				oid = r.fields[i].DataTypeOID
			}
			words = append(words, word(oid, v))
		}
		out = append(out, strings.Join(words, " | "))
	}
	return out
}

// word formats a value as the server formats one of its type.
func word(oid uint32, v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)[:1]
	case [16]byte:
		return uuid.UUID(v).String()
	case []byte:
		switch {
		case v == nil:
			return "null"
		case oid == pgtype.ByteaOID:
			return `\x` + hex.EncodeToString(v)
		}
		return string(v)
	case []int64:
		if v == nil {
			return "null"
		}
		return words(v)
	case []int32:
		return words(v)
	case [][16]byte:
		return words(v)
	case []string:
		return words(v)
	case [][]byte:
		return words(v)
	}
	return fmt.Sprint(v)
}

func words[T any](list []T) string {
	all := make([]string, len(list))
	for i, v := range list {
		text := word(0, v)
		if text == "" || strings.ContainsAny(text, "{}\",\\ \t\n\r\v\f") || strings.EqualFold(text, "null") {
			text = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
		}
		all[i] = text
	}
	return "{" + strings.Join(all, ",") + "}"
}

func shown(a *pgsim.Statement) string {
	if a.Params != nil {
		return fmt.Sprintf("%x", a.Params)
	}
	return fmt.Sprintf("%v", a.Args)
}

// Micros converts a time of the simulated server to that of the real one.
func Micros(at int64) int64 { return at / 1000 }

// OrNull returns n, or null if it is zero.
func OrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func failureText(f *plan.Failure) []byte {
	if f == nil {
		return nil
	}
	text, _ := json.Marshal(f) // a struct of strings
	return text
}
