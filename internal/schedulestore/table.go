package schedulestore

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/schedule"
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/add.sql
	addSQL string
	//go:embed sql/now.sql
	nowSQL string
	//go:embed sql/list.sql
	listSQL string
	//go:embed sql/named.sql
	namedSQL string
	//go:embed sql/remove.sql
	removeSQL string
	//go:embed sql/claim.sql
	claimSQL string
	//go:embed sql/save.sql
	saveSQL string
)

// Table is the schedules of a schema. It implements backend.Scheduler. The zero Table has no store, and every call fails.
type Table struct{ store *pgstore.Store }

var _ backend.Scheduler = Table{}

// On returns the schedules of an open store.
func On(store *pgstore.Store) Table { return Table{store} }

var errNoStore = errors.New("this host has no schedules")

// AddSchedule implements backend.Scheduler.
func (b Table) AddSchedule(ctx context.Context, s backend.Schedule, paused bool) error {
	if b.store == nil {
		return errNoStore
	}
	number, err := b.store.Number(ctx, s.Program)
	if err != nil {
		return postgres.Explain(err)
	}
	now, _, err := b.now(ctx)
	if err != nil {
		return err
	}
	st := s.Times.Begin(now)
	if paused {
		st = s.Times.Pause(st)
	}
	spec, err := json.Marshal(s.Times.Spec())
	if err != nil {
		return err
	}
	state, err := json.Marshal(st)
	if err != nil {
		return err
	}
	tag, err := b.store.Pool.Exec(ctx, addSQL, s.ID, s.Name, number, string(s.Input), string(spec), string(state), dueAt(s.Times.Wake(s.ID, st, now)))
	if err != nil {
		return postgres.Explain(pgstore.WrapUnknown(err))
	}
	if tag.RowsAffected() == 1 {
		return nil
	}
	others, _, err := b.Schedules(ctx, s.Name)
	if err == nil && (len(others) == 0 || others[0].ID != s.ID) {
		err = backend.ErrScheduleExists
	}
	return err
}

// Schedules implements backend.Scheduler.
func (b Table) Schedules(ctx context.Context, names ...string) ([]backend.StoredSchedule, time.Time, error) {
	if b.store == nil {
		return nil, time.Time{}, errNoStore
	}
	now, _, err := b.now(ctx)
	if err != nil {
		return nil, now, err
	}
	sql, args := listSQL, []any(nil)
	if len(names) > 0 {
		sorted := slices.Compact(slices.Sorted(slices.Values(names)))
		sql, args = namedSQL, []any{sorted}
	}
	found, err := b.read(ctx, sql, args...)
	return found, now, err
}

// RemoveSchedule implements backend.Scheduler.
func (b Table) RemoveSchedule(ctx context.Context, name string) (bool, error) {
	if b.store == nil {
		return false, errNoStore
	}
	tag, err := b.store.Pool.Exec(ctx, removeSQL, name)
	return tag.RowsAffected() > 0, postgres.Explain(pgstore.WrapUnknown(err))
}

// ClaimSchedules implements backend.Scheduler.
func (b Table) ClaimSchedules(ctx context.Context, most int, lease time.Duration) (out backend.ClaimedSchedules, err error) {
	if b.store == nil {
		return out, errNoStore
	}
	now, due, err := b.now(ctx)
	if err != nil || due.IsZero() || due.After(now) {
		return backend.ClaimedSchedules{Now: now, NextDue: due}, err
	}
	err = b.store.RetryContended(ctx, "claiming schedules", func() (err error) {
		out.Schedules, err = b.read(ctx, claimSQL, most, lease.Microseconds())
		return err
	})
	if err != nil {
		return out, err
	}
	slices.SortFunc(out.Schedules, func(a, b backend.StoredSchedule) int { return a.Wake.Compare(b.Wake) })
	out.Now, out.NextDue, err = b.now(ctx)
	return out, err
}

// SaveSchedules implements backend.Scheduler.
func (b Table) SaveSchedules(ctx context.Context, saves []backend.ScheduleSave) ([]bool, error) {
	if b.store == nil {
		return nil, errNoStore
	}
	order := make([]int, len(saves))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return bytes.Compare(saves[x].ID[:], saves[y].ID[:]) })
	var ids [][16]byte
	var versions []int64
	var states []string
	var due []*time.Time
	for _, i := range order {
		text, err := json.Marshal(saves[i].State)
		if err != nil {
			return nil, err
		}
		ids, versions, states = append(ids, saves[i].ID), append(versions, saves[i].Version), append(states, string(text))
		due = append(due, dueAt(saves[i].Wake))
	}
	saved := map[uuid.UUID]bool{}
	err := b.store.RetryContended(ctx, "saving schedules", func() error {
		rows, err := b.store.Pool.Query(ctx, saveSQL, ids, versions, states, due)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
		for _, id := range found {
			saved[id] = true
		}
		return err
	})
	if err != nil {
		return nil, postgres.Explain(pgstore.WrapUnknown(err))
	}
	kept := make([]bool, len(saves))
	for i := range saves {
		kept[i] = saved[saves[i].ID]
	}
	return kept, nil
}

// now reads the store's time, and when the next schedule is due; zero: none is.
func (b Table) now(ctx context.Context) (now, due time.Time, err error) {
	var next *time.Time
	if err := b.store.Pool.QueryRow(ctx, nowSQL).Scan(&now, &next); err != nil {
		return now, due, postgres.Explain(err)
	}
	if next != nil {
		due = next.UTC()
	}
	return now.UTC(), due, nil
}

type row struct {
	backend.StoredSchedule
	workflow    int32
	spec, state []byte
}

func (b Table) read(ctx context.Context, sql string, args ...any) ([]backend.StoredSchedule, error) {
	rows, err := b.store.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	found, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	out := make([]backend.StoredSchedule, len(found))
	for i := range found {
		if err := b.complete(ctx, &found[i]); err != nil {
			return nil, postgres.Explain(err)
		}
		out[i] = found[i].StoredSchedule
	}
	return out, nil
}

func scan(from pgx.CollectableRow) (r row, err error) {
	var id [16]byte
	var input []byte
	var due *time.Time
	err = from.Scan(&id, &r.Name, &r.workflow, &input, &r.spec, &r.state, &r.Version, &due)
	r.ID, r.Input = id, input
	if due != nil {
		r.Wake = due.UTC()
	}
	return r, err
}

// complete reads the columns of a row. What this process cannot read becomes the schedule's error.
func (b Table) complete(ctx context.Context, r *row) (err error) {
	r.Program, err = b.store.Program(ctx, r.workflow)
	if _, unreadable := errors.AsType[*pgstore.UnreadableError](err); err != nil && !unreadable {
		return err
	}
	if err == nil {
		var spec schedule.Spec
		if err = json.Unmarshal(r.spec, &spec); err == nil {
			r.Times, err = schedule.Compile(spec)
		}
	}
	if err == nil {
		err = json.Unmarshal(r.state, &r.State)
	}
	if err != nil {
		r.Err = fmt.Errorf("schedule %s: %w", r.Name, err)
	}
	return nil
}

// dueAt returns a time as the database stores it: without fractions of a microsecond, and never earlier.
func dueAt(wake time.Time) *time.Time {
	if wake.IsZero() {
		return nil
	}
	whole := wake.Truncate(time.Microsecond)
	if whole.Before(wake) {
		whole = whole.Add(time.Microsecond)
	}
	return &whole
}
