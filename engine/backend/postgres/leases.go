package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// Leases are leases as parameters of a statement: arrays of equal length, in the order of Add.
type Leases struct {
	Ord      []int32 // the place of each in the caller's list, by which rows come back
	Instance [][16]byte
	Node     []int32
	Path     []string
	Token    []int64
}

// Add appends a lease.
func (l *Leases) Add(ord int32, lease backend.Lease) {
	l.Ord = append(l.Ord, ord)
	l.Instance = append(l.Instance, lease.Key.Instance)
	l.Node = append(l.Node, int32(lease.Key.Run.Node))
	l.Path = append(l.Path, string(lease.Key.Run.Path))
	l.Token = append(l.Token, lease.Token)
}

// keep gives those whose ords are wanted.
func (l *Leases) keep(wanted func(ord int32) bool) (kept Leases) {
	for i, ord := range l.Ord {
		if wanted(ord) {
			kept.Ord, kept.Instance, kept.Node = append(kept.Ord, ord), append(kept.Instance, l.Instance[i]), append(kept.Node, l.Node[i])
			kept.Path, kept.Token = append(kept.Path, l.Path[i]), append(kept.Token, l.Token[i])
		}
	}
	return kept
}

// Parameters gives $1 to $6 of a statement about leases: shard, then the arrays.
func (l *Leases) Parameters(shard int) []any {
	return []any{shard, l.Ord, l.Instance, l.Node, l.Path, l.Token}
}

// Storable says whether a row can have the path: the server takes no other text, not even to say that
// there is none.
func Storable(path graph.Path) bool {
	return utf8.ValidString(string(path)) && !strings.Contains(string(path), "\x00")
}

// Held gives the ords of leases that are held. It waits for whoever changes one.
func (s *Store) Held(ctx context.Context, q *Queue, shard int, l *Leases) (map[int32]bool, error) {
	rows, err := s.Pool.Query(ctx, q.statements["held"], l.Parameters(shard)...)
	if err != nil {
		return nil, err
	}
	out := map[int32]bool{}
	return out, takeOrds(rows, out)
}

// takeOrds adds the ords that a query about leases finds.
func takeOrds(rows pgx.Rows, out map[int32]bool) error {
	var ord int32
	_, err := pgx.ForEachRow(rows, []any{&ord}, func() error {
		out[ord] = true
		return nil
	})
	return err
}

// Fence gives the leases that are still held new tokens, by ord. Their rows are locked first, which waits for
// a commit that is in flight; fence then sees what that made of them.
func (s *Store) Fence(ctx context.Context, q *Queue, fence string, shard int, l *Leases) (map[int32]int64, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	out, err := fenced(ctx, conn, q.statements["held"], fence, l.Parameters(shard))
	if err != nil && conn.InTransaction() {
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	return out, err
}

// fenced is the transaction of Fence.
func fenced(ctx context.Context, conn Conn, held, fence string, parameters []any) (map[int32]int64, error) {
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, held, parameters...); err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, fence, parameters...)
	if err != nil {
		return nil, err
	}
	out := map[int32]int64{}
	var ord int32
	var token int64
	if _, err = pgx.ForEachRow(rows, []any{&ord, &token}, func() error {
		out[ord] = token
		return nil
	}); err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, "COMMIT")
	return out, err
}

// Renew renews leases on a queue; see backend.Backend.Extend. A try is one statement, however many leases there are. It leaves out those
// whose rows somebody has locked, such as a transaction that completes one: those that still stand are tried again.
func (s *Store) Renew(ctx context.Context, q *Queue, shard int, held []backend.Lease, length time.Duration) ([]bool, error) {
	out := make([]bool, len(held))
	var left Leases
	for _, i := range lockOrder(held) {
		if Storable(held[i].Key.Run.Path) {
			left.Add(int32(i), held[i])
		}
	}
	first := true
	err := s.RetryContended(ctx, fmt.Sprintf("renewing leases of shard %d", shard), func() error {
		if len(left.Ord) == 0 {
			return nil
		}
		renewed, standing, err := s.renew(ctx, q, shard, &left, length, !first)
		if err != nil {
			return err
		}
		for ord := range renewed {
			out[ord] = true
		}
		left = left.keep(func(ord int32) bool { return !out[ord] && (first || standing[ord]) })
		if first = false; len(left.Ord) > 0 {
			return Retryable(fmt.Errorf("others have locked the rows of %d leases", len(left.Ord)))
		}
		return nil
	})
	if err != nil {
		return nil, Explain(err)
	}
	return out, nil
}

// renew makes one try, which is a transaction of its own. Where asked, it first finds out which leases stand.
func (s *Store) renew(ctx context.Context, q *Queue, shard int, l *Leases, length time.Duration, ask bool) (renewed, standing map[int32]bool, err error) {
	renewed, standing = map[int32]bool{}, map[int32]bool{}
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	if ask {
		batch.Queue(q.statements["standing"], l.Parameters(shard)...).Query(func(rows pgx.Rows) error { return takeOrds(rows, standing) })
	}
	batch.Queue(q.statements["renew"], append(l.Parameters(shard), length.Microseconds())...).Query(func(rows pgx.Rows) error { return takeOrds(rows, renewed) })
	if err = conn.SendBatch(ctx, batch).Close(); Unconfirmed(err) {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return renewed, standing, err
}

// lockOrder gives the places of leases in the order in which every statement locks rows.
func lockOrder(held []backend.Lease) []int {
	order := make([]int, len(held))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return held[i].Key.Compare(held[j].Key) })
	return order
}

// releaseTimeout bounds giving leases back, whatever became of the call that took them.
const releaseTimeout = 10 * time.Second

// Release gives leases back of which not all may have been heard: those that a transaction took on instances of a shard, which took
// place although the reply to its COMMIT was lost. The call's context may have ended by then. If it fails, the leases come
// back when they are over.
func (s *Store) Release(ctx context.Context, q *Queue, shard int, instances [][16]byte, xid string) {
	ctx, cancel := s.Clock.Within(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := s.Pool.Exec(ctx, q.statements["release"], shard, instances, xid)
	s.Problem(ctx, "giving leases back", err)
}
