package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Keys are row keys as parameters: arrays of equal length, in the order of Add. Number is a node or variable.
type Keys struct {
	Ord      []int32 // the index in the caller's list, returned with rows
	Instance [][16]byte
	Number   []int32
	Path     []string
}

// Add appends a key.
func (k *Keys) Add(ord int32, instance uuid.UUID, number int32, path graph.Path) {
	k.Ord = append(k.Ord, ord)
	k.Instance = append(k.Instance, instance)
	k.Number = append(k.Number, number)
	k.Path = append(k.Path, string(path))
}

// AddSlots appends the keys of slots.
func (k *Keys) AddSlots(ord int32, instance uuid.UUID, slots []plan.Slot) {
	for _, s := range slots {
		k.Add(ord, instance, int32(s.Var), s.Scope)
	}
}

// Parameters returns $1 to $5: shard, then the arrays.
func (k *Keys) Parameters(shard int) []any {
	return []any{shard, k.Ord, k.Instance, k.Number, k.Path}
}

// CollectValues puts values of slots into the inboxes of their ords.
func CollectValues(rows pgx.Rows, inbox func(ord int32) *plan.Inbox) error {
	var ord, variable, element int32
	var scope string
	var value []byte
	_, err := pgx.ForEachRow(rows, []any{&ord, &variable, &scope, &element, &value}, func() error {
		inbox(ord).Put(plan.Slot{Var: graph.VarID(variable), Scope: graph.Path(scope)}, int(element), value)
		return nil
	})
	return err
}

// Leases are keys with tokens, as parameters.
type Leases struct {
	Keys
	Token []int64
}

// Add appends a lease.
func (l *Leases) Add(ord int32, lease backend.Lease) {
	l.Keys.Add(ord, lease.Key.Instance, int32(lease.Key.Run.Node), lease.Key.Run.Path)
	l.Token = append(l.Token, lease.Token)
}

func (l *Leases) filter(wanted func(ord int32) bool) (kept Leases) {
	for i, ord := range l.Ord {
		if wanted(ord) {
			kept.Keys.Add(ord, l.Instance[i], l.Number[i], graph.Path(l.Path[i]))
			kept.Token = append(kept.Token, l.Token[i])
		}
	}
	return kept
}

// Parameters returns $1 to $6: shard, then the arrays.
func (l *Leases) Parameters(shard int) []any { return append(l.Keys.Parameters(shard), l.Token) }

// Storable reports whether a path can be a text parameter: the server refuses others, even in a query.
func Storable(path graph.Path) bool {
	return utf8.ValidString(string(path)) && !strings.Contains(string(path), "\x00")
}

// HeldLeases returns the ords of the leases that are held. It waits for transactions that change one.
func (s *Store) HeldLeases(ctx context.Context, q *Queue, shard int, l *Leases) (map[int32]bool, error) {
	rows, err := s.Pool.Query(ctx, q.statements["held"], l.Parameters(shard)...)
	if err != nil {
		return nil, err
	}
	out := map[int32]bool{}
	return out, collectOrds(rows, out)
}

func collectOrds(rows pgx.Rows, out map[int32]bool) error {
	var ord int32
	_, err := pgx.ForEachRow(rows, []any{&ord}, func() error {
		out[ord] = true
		return nil
	})
	return err
}

// Fence gives new tokens to leases that are still held, and returns them by ord. It locks the rows first, which waits for a
// commit in flight; the fence statement then sees its result.
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

// Renew renews leases for the grant's, or returns them if it has none; see backend.Backend.Renew. Each try is one statement. It skips locked
// rows, such as those being completed; if those leases are still held, they are tried again.
func (s *Store) Renew(ctx context.Context, q *Queue, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
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
		renewed, standing, err := s.renew(ctx, q, shard, &left, grant, !first)
		if err != nil {
			return err
		}
		for ord := range renewed {
			out[ord] = true
		}
		left = left.filter(func(ord int32) bool { return !out[ord] && (first || standing[ord]) })
		if first = false; len(left.Ord) > 0 {
			return Retryable(fmt.Errorf("others have locked the rows of %d leases", len(left.Ord)))
		}
		return nil
	})
	if err != nil {
		return nil, postgres.Explain(err)
	}
	return out, nil
}

// renew makes one try. If ask is set, it first reads which leases are held.
func (s *Store) renew(ctx context.Context, q *Queue, shard int, l *Leases, grant backend.Grant, ask bool) (renewed, standing map[int32]bool, err error) {
	renewed, standing = map[int32]bool{}, map[int32]bool{}
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	if ask {
		batch.Queue(q.statements["standing"], l.Parameters(shard)...).Query(func(rows pgx.Rows) error { return collectOrds(rows, standing) })
	}
	statement, parameters := "renew", append(l.Parameters(shard), grant.Lease.Microseconds())
	if grant.Lease == 0 {
		statement, parameters = "give_back", append(l.Parameters(shard), grant.Pause.Microseconds())
	}
	batch.Queue(q.statements[statement], parameters...).Query(func(rows pgx.Rows) error { return collectOrds(rows, renewed) })
	return renewed, standing, WrapUnknown(conn.SendBatch(ctx, batch).Close())
}

// MakeDue makes node runs due that are not leased, and reports which are there; see backend.Signaler.
func (s *Store) MakeDue(ctx context.Context, q *Queue, shard int, runs []backend.Key) ([]bool, error) {
	out := make([]bool, len(runs))
	var keys Keys
	for i, key := range runs {
		if Storable(key.Run.Path) {
			keys.Add(int32(i), key.Instance, int32(key.Run.Node), key.Run.Path)
		}
	}
	found := map[int32]bool{}
	err := s.RetryContended(ctx, fmt.Sprintf("making node runs of shard %d due", shard), func() error {
		rows, err := s.Pool.Query(ctx, q.statements["make_due"], keys.Parameters(shard)...)
		if err != nil {
			return err
		}
		return collectOrds(rows, found)
	})
	if err != nil {
		return nil, postgres.Explain(WrapUnknown(err))
	}
	for ord := range found {
		out[ord] = true
	}
	return out, nil
}

func lockOrder(held []backend.Lease) []int {
	order := make([]int, len(held))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return held[i].Key.Compare(held[j].Key) })
	return order
}

// releaseTimeout bounds returning leases after the call's context has ended.
const releaseTimeout = 10 * time.Second

// Release returns the leases that transaction xid took, if the reply to its COMMIT was lost: the caller may not know all of them.
// If it fails, they expire.
func (s *Store) Release(ctx context.Context, q *Queue, shard int, instances [][16]byte, xid string) {
	ctx, cancel := s.Clock.Within(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := s.Pool.Exec(ctx, q.statements["release"], shard, instances, xid)
	s.Problem(ctx, "giving leases back", err)
}
