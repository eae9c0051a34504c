package pgstore

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgtest"
)

func TestArrays(t *testing.T) {
	ctx := context.Background()
	store, err := Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)}, base)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	id := uuid.New()
	for name, c := range map[string]struct {
		of   Array
		fill func(a *Array)
		want string // as text, by the server
	}{
		"int[]":     {Int4s(), func(a *Array) { a.Int4(7); a.Int4(-1) }, "{7,-1}"},
		"bigint[]":  {Int8s(), func(a *Array) { a.Int8(1 << 40); a.Null(); a.Int8(-2) }, "{1099511627776,NULL,-2}"},
		"boolean[]": {Bools(), func(a *Array) { a.Bool(true); a.Bool(false) }, "{t,f}"},
		"uuid[]":    {UUIDs(), func(a *Array) { a.UUID(id) }, "{" + id.String() + "}"},
		"text[]":    {Texts(), func(a *Array) { a.Text(""); a.Text(`ä, "b"`) }, `{"","ä, \"b\""}`},
		"json[]":    {JSONs(), func(a *Array) { a.Bytes([]byte("1.50")); a.Bytes(nil) }, "{1.50,NULL}"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.of
			for range 2 { // the second time in the same memory
				for _, want := range []string{"{}", c.want} {
					if want != "{}" {
						c.fill(&a)
					}
					var text string
					var back []byte
					rows, err := store.Pool.Query(ctx, "SELECT ($1::"+name+")::text, $1::"+name, &a)
					if err != nil {
						t.Fatal(err)
					}
					if rows.Next() {
						text, back = string(rows.RawValues()[0]), bytes.Clone(rows.RawValues()[1])
					}
					rows.Close()
					if err := rows.Err(); err != nil || text != want {
						t.Fatalf("%s, %v; want %s", text, err, want)
					}
					if list := ReadArray(back); list.Len() != a.Len() {
						t.Errorf("%d elements come back of %d", list.Len(), a.Len())
					} else if got := read(list); !bytes.Equal(got, a.data) {
						t.Errorf("what comes back is %x; sent was %x", got, a.data)
					}
				}
				a.Reset()
			}
		})
	}
	wrong := Int4s()
	wrong.Int4(1)
	if _, err := store.Pool.Exec(ctx, "SELECT $1::uuid[]", &wrong); err == nil || !strings.Contains(err.Error(), "type 23") {
		t.Errorf("an array of integers for one of uuids: %v; want it refused before it is sent", err)
	}
}

func read(list Elements) []byte {
	a := Texts()
	for list.Len() > 0 {
		a.Bytes(list.Next())
	}
	return a.data
}
