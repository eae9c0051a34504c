package limitstore

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/limit"
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/list.sql
	listSQL string
	//go:embed sql/set.sql
	setSQL string
	//go:embed sql/owner.sql
	ownerSQL string
	//go:embed sql/remove.sql
	removeSQL string
	//go:embed sql/save.sql
	saveSQL string
)

// LimitTable is the limits of a schema. It implements backend.Limiter. The zero LimitTable has no store, and every call fails.
type LimitTable struct{ store *pgstore.Store }

var _ backend.Limiter = LimitTable{}

// On returns the limits of an open store.
func On(store *pgstore.Store) LimitTable { return LimitTable{store} }

var errNoStore = errors.New("this host has no limits")

// SetLimit implements backend.Limiter. Of two calls at the same time that give an action to different limits, one may be unnoticed;
// engines then use the first limit by name.
func (b LimitTable) SetLimit(ctx context.Context, l limit.Limit) error {
	if b.store == nil {
		return errNoStore
	}
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Actions == nil {
		l.Actions = []string{} // statements take it apart
	}
	spec, err := json.Marshal(l)
	if err != nil {
		return err
	}
	stored := false
	err = b.store.InTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, setSQL, l.Name, string(spec), l.Actions)
		if stored = err == nil && tag.RowsAffected() == 1; !stored {
			return err
		}
		return placeRunning(ctx, tx, l)
	})
	if err != nil || stored {
		return postgres.Explain(pgstore.WrapUnknown(err))
	}
	var other, action string
	switch err := b.store.Pool.QueryRow(ctx, ownerSQL, l.Name, l.Actions).Scan(&other, &action); {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("limit %s: another one with its actions was removed just now; set it again", l.Name)
	case err != nil:
		return postgres.Explain(err)
	}
	return fmt.Errorf("%w, and limit %s has %s", backend.ErrActionLimited, other, action)
}

// Limits implements backend.Limiter.
func (b LimitTable) Limits(ctx context.Context) (found []backend.StoredLimit, now time.Time, err error) {
	if b.store == nil {
		return nil, now, errNoStore
	}
	rows, err := b.store.Pool.Query(ctx, listSQL)
	if err != nil {
		return nil, now, postgres.Explain(err)
	}
	var name *string
	var spec, state []byte
	var version *int64
	_, err = pgx.ForEachRow(rows, []any{&now, &name, &spec, &state, &version}, func() error {
		if name == nil {
			return nil
		}
		l := backend.StoredLimit{Version: *version}
		if err := errors.Join(json.Unmarshal(spec, &l.Limit), json.Unmarshal(state, &l.State)); err != nil {
			return fmt.Errorf("limit %s: it is not as this version of pulley writes it: %w", *name, err)
		}
		found = append(found, l)
		return nil
	})
	return found, now.UTC(), postgres.Explain(err)
}

// RemoveLimit implements backend.Limiter.
func (b LimitTable) RemoveLimit(ctx context.Context, name string) (bool, error) {
	if b.store == nil {
		return false, errNoStore
	}
	removed := false
	err := b.store.InTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error { // first the limit, as Admit locks it
		tag, err := tx.Exec(ctx, removeSQL, name)
		if err != nil {
			return err
		}
		removed = tag.RowsAffected() > 0
		_, err = tx.Exec(ctx, takeBackSQL, name)
		return err
	})
	return removed && err == nil, postgres.Explain(pgstore.WrapUnknown(err))
}

// SaveLimits implements backend.Limiter.
func (b LimitTable) SaveLimits(ctx context.Context, saves []backend.LimitSave) ([]bool, error) {
	if b.store == nil {
		return nil, errNoStore
	}
	ordered := slices.SortedFunc(slices.Values(saves), func(x, y backend.LimitSave) int { return strings.Compare(x.Name, y.Name) })
	var names, states []string
	var versions []int64
	for _, save := range ordered {
		text, err := json.Marshal(save.State)
		if err != nil {
			return nil, err
		}
		names, versions, states = append(names, save.Name), append(versions, save.Version), append(states, string(text))
	}
	rows, err := b.store.Pool.Query(ctx, saveSQL, names, versions, states)
	var saved []string
	if err == nil {
		saved, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		return nil, postgres.Explain(pgstore.WrapUnknown(err))
	}
	kept := make([]bool, len(saves))
	for i, save := range saves {
		kept[i] = slices.Contains(saved, save.Name)
	}
	return kept, nil
}
