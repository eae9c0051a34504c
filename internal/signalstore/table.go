package signalstore

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/due.sql
	dueSQL string
	//go:embed sql/notice.sql
	noticeSQL string
	//go:embed sql/claim.sql
	claimSQL string
	//go:embed sql/rest.sql
	restSQL string
	//go:embed sql/take.sql
	takeSQL string
	//go:embed sql/return.sql
	returnSQL string
	//go:embed sql/store.sql
	storeSQL string
	//go:embed sql/send.sql
	sendSQL string
	//go:embed sql/sent.sql
	sentSQL string
	//go:embed sql/remove.sql
	removeSQL string
	//go:embed sql/remove_instances.sql
	removeInstancesSQL string
	//go:embed sql/waits_of.sql
	waitsOfSQL string
	//go:embed sql/signals_of.sql
	signalsOfSQL string
)

// SignalTable is the signals of a schema. It implements backend.Signaler, without MakeDue, which is a
// design's. The zero SignalTable has no store, and every call fails.
type SignalTable struct{ store *pgstore.Store }

// On returns the signals of an open store.
func On(store *pgstore.Store) SignalTable { return SignalTable{store} }

var errNoStore = errors.New("this host has no signals")

// SendSignal implements backend.Signaler.
func (b SignalTable) SendSignal(ctx context.Context, s backend.Signal) (bool, error) {
	if b.store == nil {
		return false, errNoStore
	}
	tag, err := b.store.Pool.Exec(ctx, sendSQL, s.ID, s.Instance, s.Name, string(s.Value), s.Keyed, backend.SignalsMax)
	if err != nil {
		return false, postgres.Explain(pgstore.WrapUnknown(err))
	}
	if tag.RowsAffected() == 1 {
		return true, nil
	}
	var there bool
	if err := b.store.Pool.QueryRow(ctx, sentSQL, s.ID).Scan(&there); err != nil {
		return false, postgres.Explain(err)
	}
	if !there {
		return false, backend.ErrSignalsFull
	}
	return false, nil
}

// StoreWait implements backend.Signaler.
func (b SignalTable) StoreWait(ctx context.Context, w backend.SignalWait, timeout, hold time.Duration) error {
	if b.store == nil {
		return errNoStore
	}
	_, err := b.store.Pool.Exec(ctx, storeSQL, append(leaseOf(w), w.Attempt, w.Name, timeout.Microseconds(), hold.Microseconds())...)
	return postgres.Explain(pgstore.WrapUnknown(err))
}

// leaseOf returns $1 to $4.
func leaseOf(w backend.SignalWait) []any {
	key := w.Lease.Key
	return []any{key.Instance, int32(key.Run.Node), string(key.Run.Path), w.Lease.Token}
}

// TakeSignal implements backend.Signaler.
func (b SignalTable) TakeSignal(ctx context.Context, w backend.SignalWait, hold time.Duration) (after backend.SignalWait, now time.Time, stored bool, err error) {
	if b.store == nil {
		return w, now, false, errNoStore
	}
	var c come
	err = b.store.RetryContended(ctx, "taking a signal", func() error {
		return b.store.Pool.QueryRow(ctx, takeSQL, append(leaseOf(w), hold.Microseconds())...).Scan(&c.since, &c.deadline, &c.timedOut, &c.received, &w.Value, &now)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return w, now, false, nil
	case err != nil:
		return w, now, false, postgres.Explain(pgstore.WrapUnknown(err))
	}
	c.into(&w)
	return w, now.UTC(), true, nil
}

// ReturnSignal implements backend.Signaler.
func (b SignalTable) ReturnSignal(ctx context.Context, w backend.SignalWait) error {
	if b.store == nil {
		return errNoStore
	}
	return b.exec(ctx, "returning a signal", returnSQL, leaseOf(w)...)
}

// RestWait implements backend.Signaler.
func (b SignalTable) RestWait(ctx context.Context, w backend.SignalWait, rest time.Duration) (due bool, err error) {
	if b.store == nil {
		return false, errNoStore
	}
	err = b.store.RetryContended(ctx, "resting a wait for a signal", func() error {
		return b.store.Pool.QueryRow(ctx, restSQL, append(leaseOf(w), rest.Microseconds())...).Scan(&due)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return due, postgres.Explain(pgstore.WrapUnknown(err))
}

// ClaimWaits implements backend.Signaler.
func (b SignalTable) ClaimWaits(ctx context.Context, most int, hold time.Duration) (out backend.ClaimedWaits, err error) {
	if b.store == nil {
		return out, errNoStore
	}
	var signals, waits bool
	if err := b.store.Pool.QueryRow(ctx, dueSQL).Scan(&signals, &waits); err != nil || !signals && !waits {
		return out, postgres.Explain(err)
	}
	err = b.store.RetryContended(ctx, "claiming waits for signals", func() error {
		if signals {
			if out.Instances, err = b.notice(ctx, most); err != nil {
				return err
			}
			signals = false
		}
		out.Waits, err = b.waits(ctx, claimSQL, most, hold.Microseconds())
		return err
	})
	out.More = len(out.Waits) == most
	return out, postgres.Explain(err)
}

// notice makes the waits for new signals due, and returns instances that have old ones.
func (b SignalTable) notice(ctx context.Context, most int) (old []uuid.UUID, err error) {
	rows, err := b.store.Pool.Query(ctx, noticeSQL, most)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	var isOld bool
	_, err = pgx.ForEachRow(rows, []any{&id, &isOld}, func() error {
		if isOld && !slices.Contains(old, uuid.UUID(id)) {
			old = append(old, id)
		}
		return nil
	})
	return old, err
}

// come is what a wait has come to, as it is stored.
type come struct {
	since              time.Time
	deadline           *time.Time
	timedOut, received bool
}

func (c *come) into(w *backend.SignalWait) {
	w.Since, w.State = c.since.UTC(), backend.Waiting
	if c.deadline != nil {
		w.Deadline = c.deadline.UTC()
	}
	switch {
	case c.received:
		w.State = backend.Received
	case c.timedOut:
		w.State = backend.TimedOut
	}
}

func (b SignalTable) waits(ctx context.Context, sql string, args ...any) ([]backend.SignalWait, error) {
	rows, err := b.store.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(from pgx.CollectableRow) (w backend.SignalWait, err error) {
		var id [16]byte
		var node int32
		var path string
		var c come
		err = from.Scan(&id, &node, &path, &w.Lease.Token, &w.Attempt, &w.Name, &c.since, &c.deadline, &c.timedOut, &c.received)
		w.Lease.Key = backend.Key{Instance: id, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
		c.into(&w)
		return w, err
	})
}

// RemoveWaits implements backend.Signaler.
func (b SignalTable) RemoveWaits(ctx context.Context, waits []backend.SignalWait) error {
	if b.store == nil {
		return errNoStore
	}
	var instances [][16]byte
	var nodes []int32
	var paths []string
	var tokens []int64
	for _, w := range slices.SortedFunc(slices.Values(waits), func(x, y backend.SignalWait) int { return x.Lease.Key.Compare(y.Lease.Key) }) {
		key := w.Lease.Key
		instances, nodes, paths, tokens = append(instances, key.Instance), append(nodes, int32(key.Run.Node)), append(paths, string(key.Run.Path)), append(tokens, w.Lease.Token)
	}
	return b.exec(ctx, "removing waits for signals", removeSQL, instances, nodes, paths, tokens)
}

// RemoveSignals implements backend.Signaler.
func (b SignalTable) RemoveSignals(ctx context.Context, instances []uuid.UUID) error {
	if b.store == nil {
		return errNoStore
	}
	ids := make([][16]byte, len(instances))
	for i, id := range instances {
		ids[i] = id
	}
	return b.exec(ctx, "removing signals of ended instances", removeInstancesSQL, ids)
}

func (b SignalTable) exec(ctx context.Context, doing, sql string, args ...any) error {
	err := b.store.RetryContended(ctx, doing, func() error {
		_, err := b.store.Pool.Exec(ctx, sql, args...)
		return err
	})
	return postgres.Explain(pgstore.WrapUnknown(err))
}

// Signals implements backend.Signaler.
func (b SignalTable) Signals(ctx context.Context, instance uuid.UUID, most int) ([]backend.SignalWait, []backend.StoredSignal, error) {
	if b.store == nil {
		return nil, nil, errNoStore
	}
	waits, err := b.waits(ctx, waitsOfSQL, instance, most)
	if err != nil {
		return nil, nil, postgres.Explain(err)
	}
	rows, err := b.store.Pool.Query(ctx, signalsOfSQL, instance, most)
	if err != nil {
		return nil, nil, postgres.Explain(err)
	}
	signals, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (s backend.StoredSignal, err error) {
		var id [16]byte
		err = from.Scan(&id, &s.Name, &s.Value, &s.Keyed, &s.Sent)
		s.ID, s.Instance, s.Sent = id, instance, s.Sent.UTC()
		return s, err
	})
	return waits, signals, postgres.Explain(err)
}
