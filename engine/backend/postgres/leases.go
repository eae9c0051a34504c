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

// extendTries bounds how often one call prolongs leases again that the server gave up for others.
const extendTries = 5

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

// Parameters gives $1 to $6 of a statement about leases: shard, then the arrays.
func (l *Leases) Parameters(shard int) []any {
	return []any{shard, l.Ord, l.Instance, l.Node, l.Path, l.Token}
}

// Storable says whether a row can have the path: the server takes no other text, not even to say that
// there is none.
func Storable(path graph.Path) bool {
	return utf8.ValidString(string(path)) && !strings.Contains(string(path), "\x00")
}

// Ords gives the ords that a query about leases finds.
func (s *Store) Ords(ctx context.Context, sql string, shard int, l *Leases) (map[int32]bool, error) {
	rows, err := s.Pool.Query(ctx, sql, l.Parameters(shard)...)
	if err != nil {
		return nil, err
	}
	out := map[int32]bool{}
	return out, TakeOrds(rows, out)
}

// TakeOrds adds the ords that a query about leases finds.
func TakeOrds(rows pgx.Rows, out map[int32]bool) error {
	var ord int32
	_, err := pgx.ForEachRow(rows, []any{&ord}, func() error {
		out[ord] = true
		return nil
	})
	return err
}

// Fence gives the leases that are still held new tokens, by ord. held locks their rows, and so waits for
// a commit that is in flight; fence then sees what that made of them.
func (s *Store) Fence(ctx context.Context, held, fence string, shard int, l *Leases) (map[int32]int64, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	out, err := fenced(ctx, conn, held, fence, l.Parameters(shard))
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

// Extend prolongs leases with a statement that takes their parameters and, as $7, the length in µs; see
// backend.Backend. A completion can hold a row that is wanted here while it waits for another's barrier:
// what the server gives up then is tried again, since prolonging twice is prolonging.
func (s *Store) Extend(ctx context.Context, sql string, shard int, held []backend.Lease, length time.Duration) ([]bool, error) {
	out := make([]bool, len(held))
	if len(held) == 0 {
		return out, nil
	}
	var l Leases
	for _, i := range lockOrder(held) {
		if Storable(held[i].Key.Run.Path) {
			l.Add(int32(i), held[i])
		}
	}
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, Explain(err)
	}
	defer conn.Release()
	for try := 1; ; try++ {
		kept, err := extend(ctx, conn, sql, append(l.Parameters(shard), length.Microseconds()))
		switch {
		case Contended(err) && try < extendTries:
			continue
		case Unconfirmed(err):
			return nil, Explain(fmt.Errorf("%w: %w", backend.ErrUnknown, err))
		case err != nil:
			return nil, Explain(err)
		}
		for _, ord := range kept {
			out[ord] = true
		}
		return out, nil
	}
}

func extend(ctx context.Context, conn Conn, sql string, parameters []any) ([]int32, error) {
	rows, err := conn.Query(ctx, sql, parameters...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int32])
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

// Claim sends a claim, whose rows take reads and which are leased until expires, and behind it the question when
// the next node run of the shard is due, in µs, negative if one is. It fills More and NextDue. An error that leaves
// open whether something was leased is backend.ErrUnknown: what was comes back when its lease is over.
func (s *Store) Claim(ctx context.Context, lease time.Duration, claim *pgx.QueuedQuery, take func(rows pgx.Rows, expires time.Time) error, nextDue *pgx.QueuedQuery) (backend.Committed, error) {
	var out backend.Committed
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return out, Explain(err)
	}
	sent := s.Clock.Now()
	batch := &pgx.Batch{}
	batch.Queue(claim.SQL, claim.Arguments...).Query(func(rows pgx.Rows) error { return take(rows, sent.Add(lease)) })
	batch.Queue(nextDue.SQL, nextDue.Arguments...).Query(func(rows pgx.Rows) error {
		var us int64
		_, err := pgx.ForEachRow(rows, []any{&us}, func() error {
			out.NextDue = sent.Add(time.Duration(max(us, 0)) * time.Microsecond)
			out.More = us <= 0
			return nil
		})
		return err
	})
	err = conn.SendBatch(ctx, batch).Close()
	conn.Release() // reading a workflow takes another, and nobody may wait for one who waits
	if Unconfirmed(err) {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	if err != nil {
		return backend.Committed{}, Explain(err)
	}
	return out, nil
}
