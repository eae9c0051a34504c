package limitstore

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/limit"
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/covered.sql
	coveredSQL string
	//go:embed sql/covering.sql
	coveringSQL string
	//go:embed sql/placed.sql
	placedSQL string
	//go:embed sql/free.sql
	freeSQL string
	//go:embed sql/place.sql
	placeSQL string
	//go:embed sql/take_back.sql
	takeBackSQL string
	//go:embed sql/running.sql
	runningSQL string
)

// lookFold is the pause between two looks for ended instances, in looks: they take a tenth of the time.
const lookFold = 10

// Admit implements backend.Limiter. It locks the rows of the limits, so that there is one at a time for each limit.
func (b LimitTable) Admit(ctx context.Context, workflow string, ids []uuid.UUID) (full []string, err error) {
	if b.store == nil {
		return nil, errNoStore
	}
	full = make([]string, len(ids))
	var some bool
	if err := b.store.Pool.QueryRow(ctx, coveredSQL).Scan(&some); err != nil || !some {
		return full, postgres.Explain(err)
	}
	err = b.store.RetryContended(ctx, "admitting instances", func() error {
		return b.store.InTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			a := admission{tx: tx, ids: ids, shards: b.shardsOf(ids)}
			if err := a.lock(ctx, workflow); err != nil {
				return err
			}
			return a.decide(ctx, full)
		})
	})
	return full, postgres.Explain(pgstore.WrapUnknown(err))
}

func (b LimitTable) shardsOf(ids []uuid.UUID) []int16 {
	shards := make([]int16, len(ids))
	for i, id := range ids {
		shards[i] = int16(backend.ShardOf(id, b.store.Shards()))
	}
	return shards
}

// admission is a transaction that gives instances places.
type admission struct {
	tx     pgx.Tx
	ids    []uuid.UUID
	shards []int16
	limits []covering
}

// covering is a locked limit.
type covering struct {
	name      string
	most      int
	state     limit.State
	mayLook   bool
	lookPause *int64 // in µs, if it was looked which instances have ended
	placed    []bool
}

func (a *admission) lock(ctx context.Context, workflow string) error {
	rows, err := a.tx.Query(ctx, coveringSQL, workflow)
	if err != nil {
		return err
	}
	a.limits, err = pgx.CollectRows(rows, func(from pgx.CollectableRow) (c covering, err error) {
		var state []byte
		if err := from.Scan(&c.name, &c.most, &state, &c.mayLook); err != nil {
			return c, err
		}
		if err := json.Unmarshal(state, &c.state); err != nil {
			return c, fmt.Errorf("limit %s: it is not as this version of pulley writes it: %w", c.name, err)
		}
		return c, nil
	})
	return err
}

func (a *admission) decide(ctx context.Context, full []string) error {
	places := make([]limit.Places, len(a.limits))
	for i := range a.limits {
		var err error
		if places[i], err = a.places(ctx, &a.limits[i]); err != nil {
			return err
		}
	}
	admitted, fullOf := limit.Admit(len(a.ids), places)
	for i := range a.ids {
		if full[i] = ""; !admitted[i] {
			full[i] = a.limits[fullOf[i]].name
		}
	}
	for i := range a.limits {
		if err := a.place(ctx, &a.limits[i], admitted); err != nil {
			return err
		}
	}
	return nil
}

// places returns a limit's places. If they are short, it frees those of instances that have ended.
func (a *admission) places(ctx context.Context, c *covering) (p limit.Places, err error) {
	have, err := a.placed(ctx, c)
	if err != nil {
		return p, err
	}
	if c.mayLook && c.most-c.state.Admitted < len(a.ids)-have {
		begun := time.Now()
		tag, err := a.tx.Exec(ctx, freeSQL, c.name)
		if err != nil {
			return p, err
		}
		c.state.Admitted -= int(tag.RowsAffected())
		pause := lookFold * time.Since(begun).Microseconds()
		c.lookPause = &pause
		if _, err := a.placed(ctx, c); err != nil { // some may have lost theirs
			return p, err
		}
	}
	return limit.Places{Free: c.most - c.state.Admitted, Have: c.placed}, nil
}

// placed finds which candidates have a place, and returns their number.
func (a *admission) placed(ctx context.Context, c *covering) (int, error) {
	rows, err := a.tx.Query(ctx, placedSQL, c.name, a.ids)
	if err != nil {
		return 0, err
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return 0, err
	}
	found := make(map[uuid.UUID]bool, len(have))
	for _, id := range have {
		found[id] = true
	}
	c.placed = make([]bool, len(a.ids))
	for i, id := range a.ids {
		c.placed[i] = found[id]
	}
	return len(have), nil
}

// place gives the admitted their places. One that had its place is about to be stored once more, and has another minute for that.
func (a *admission) place(ctx context.Context, c *covering, admitted []bool) error {
	var ids [][16]byte
	var shards []int16
	count := c.state.Admitted
	for i, id := range a.ids {
		if !admitted[i] {
			continue
		}
		if ids, shards = append(ids, id), append(shards, a.shards[i]); !c.placed[i] {
			count++
		}
	}
	if len(ids) == 0 && c.lookPause == nil {
		return nil
	}
	_, err := a.tx.Exec(ctx, placeSQL, c.name, ids, shards, count, c.lookPause)
	return err
}

// placeRunning gives places to the instances that run when a limit is set. A limit of attempts has no places.
func placeRunning(ctx context.Context, tx pgx.Tx, l limit.Limit) error {
	if !l.BoundsInstances() {
		_, err := tx.Exec(ctx, takeBackSQL, l.Name)
		return err
	}
	workflows := l.Workflows
	if workflows == nil {
		workflows = []string{}
	}
	_, err := tx.Exec(ctx, runningSQL, l.Name, workflows)
	return err
}
