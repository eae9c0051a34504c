package claims

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// sampleEvery is how often a sampler looks.
const sampleEvery = 3 * time.Millisecond

// waits are what was seen of sessions over some time.
type waits struct {
	samples int           // looks at which some session was in a transaction
	busy    int           // sessions in a transaction, summed over the looks
	waiting int           // of these, such as waited for a row that another had locked
	longest time.Duration // of the waits that were seen, up to the look
}

// share is which part of the time that sessions spend in transactions they wait for another's row.
func (w waits) share() float64 { return float64(w.waiting) / float64(max(w.busy, 1)) }

// perTransaction is how long a transaction waits for others' rows, in lengths of a transaction that does not.
func (w waits) perTransaction() float64 {
	return float64(w.waiting) / float64(max(w.busy-w.waiting, 1))
}

// watchWaits looks at the sessions whose names begin so, every few milliseconds, while work runs. It does all its
// looking in one transaction, so that the workload's commits can still be counted.
func watchWaits(ctx context.Context, dsn, application string, work func() error) (waits, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return waits{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var seen waits
	failed := make(chan error, 1)
	go func() { failed <- seen.watch(watching, conn, application) }()
	worked := work()
	stop()
	if err := <-failed; err != nil && worked == nil {
		worked = err
	}
	return seen, worked
}

// watch looks until ctx ends.
func (w *waits) watch(ctx context.Context, conn *pgx.Conn, application string) error {
	// A look under way is not cut off: that would cost the connection.
	look := context.WithoutCancel(ctx)
	tx, err := conn.Begin(look)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(look) }()
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := w.look(look, tx, application); err != nil {
			return err
		}
	}
}

func (w *waits) look(ctx context.Context, tx pgx.Tx, application string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var busy, waiting int
	var longest int64
	batch := &pgx.Batch{}
	batch.Queue(query("fresh")) // within a transaction the view would stay as it was first seen
	batch.Queue(query("waits"), application).QueryRow(func(row pgx.Row) error { return row.Scan(&busy, &waiting, &longest) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if busy > 0 {
		w.samples++
	}
	w.busy, w.waiting = w.busy+busy, w.waiting+waiting
	w.longest = max(w.longest, time.Duration(longest)*time.Microsecond)
	return nil
}
