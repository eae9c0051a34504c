package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/graph"
)

type store struct {
	Pool
	clock    int64
	answered int64 // the clock's value after the answer
	leases   []answer
	tag      string // the answer to a change
	sent     []any
}

type answer struct {
	instance *uuid.UUID
	node     *graph.NodeID
	path     *graph.Path
	token    *int64
	micros   *int64
}

func (s *store) Query(context.Context, string, ...any) (pgx.Rows, error) {
	s.clock = s.answered
	return &rows{left: s.leases}, nil
}

func (s *store) Exec(_ context.Context, _ string, args ...any) (pgconn.CommandTag, error) {
	s.sent = args
	return pgconn.NewCommandTag(s.tag), nil
}

// rows are the rows of an answer. A negative node cannot be read.
type rows struct {
	pgx.Rows
	left []answer
	at   answer
}

func (r *rows) Next() bool {
	if len(r.left) == 0 {
		return false
	}
	r.at, r.left = r.left[0], r.left[1:]
	return true
}

func (r *rows) Scan(to ...any) error {
	if r.at.node != nil && *r.at.node < 0 {
		return errors.New("no node")
	}
	*to[0].(**uuid.UUID), *to[1].(**graph.NodeID), *to[2].(**graph.Path) = r.at.instance, r.at.node, r.at.path
	*to[3].(**int64), *to[4].(**int64), *to[5].(*bool) = r.at.token, r.at.micros, true
	return nil
}

func (r *rows) Err() error { return nil }
func (r *rows) Close()     {}

func row(token, micros int64) answer {
	id, node, path := uuid.UUID{1}, graph.NodeID(token), graph.Path("0")
	return answer{&id, &node, &path, &token, &micros}
}

func lease(token, due int64) Lease {
	return Lease{Instance: uuid.UUID{1}, Key: graph.Run{Node: graph.NodeID(token), Path: "0"}, Token: token, Due: due}
}

// TestLeasesAreDatedByTheAnswer checks that the rest of a lease counts from the store's answer, so that no lease ends here before
// its holder expects it (I11).
func TestLeasesAreDatedByTheAnswer(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  []answer
		want  []Lease
		owned bool
		fails bool
	}{
		{"two", []answer{row(7, 5), row(8, -1)}, []Lease{lease(7, 905_000), lease(8, 899_000)}, true, false},
		{"none", []answer{{}}, nil, true, false},
		{"another's by now", nil, nil, false, false},
		{"unreadable", []answer{row(7, 5), row(-1, 5)}, nil, false, true},
	} {
		s := &store{clock: 100_000, answered: 900_000, leases: c.rows}
		got, counted, owned, err := (&Registry{Pool: s}).Leases(t.Context(), 3, 4, func() int64 { return s.clock })
		if !slices.Equal(got, c.want) || owned != c.owned || (err != nil) != c.fails || counted != c.owned {
			t.Errorf("%s: %+v, counted %t, owned %t (%v); want %+v, %t", c.name, got, counted, owned, err, c.want, c.owned)
		}
	}
}

func TestReleaseHandsLeasesOver(t *testing.T) {
	for tag, want := range map[string]bool{"UPDATE 1": true, "UPDATE 0": false} {
		s := &store{tag: tag}
		r := &Registry{Pool: s, Name: "me", Channel: "c", PeersChanged: "n"}
		given, err := r.Release(t.Context(), 3, 5, 4, []Lease{lease(7, 905_000), lease(8, 899_000)}, true, 900_000)
		if err != nil || given != want {
			t.Errorf("after %s the shard was given back: %t (%v)", tag, given, err)
		}
		id := [16]byte{1}
		sent := []any{3, "me", [][16]byte{id, id}, []int32{7, 8}, []string{"0", "0"}, []int64{7, 8}, []int64{5, -1}, "c", "n", true, int64(4), int64(5)}
		if got := fmt.Sprint(s.sent); got != fmt.Sprint(sent) {
			t.Errorf("the store was sent %s; want %s", got, fmt.Sprint(sent))
		}
	}
}

func TestFree(t *testing.T) {
	r := &Registry{Name: "me"}
	for s, want := range map[ShardView]bool{
		{}:                             true,
		{Owner: "me", Remaining: 1}:    true,
		{Owner: "other", Remaining: 0}: true,
		{Owner: "other", Remaining: 1}: false,
	} {
		if got := r.Free(s); got != want {
			t.Errorf("%+v is free: %t; want %t", s, got, want)
		}
	}
}
