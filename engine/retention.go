package engine

import (
	"context"
	"fmt"
	"time"

	"pulley/engine/backend"
)

// Pauses of the deletion of old instances. A pass over all instances begins after a tenth of the retention, so that none is kept
// for much longer.
const (
	retentionMin   = time.Minute
	retentionMax   = 100 * 365 * 24 * time.Hour
	purgePause     = 10 * time.Millisecond // between two transactions
	purgeRestPart  = 10
	purgeRestLeast = 10 * time.Second // between two passes
	purgeRestMost  = time.Hour
)

// runRetention deletes instances that ended longer ago than the retention, until the engine drains. A call that fails is followed
// by growing pauses.
func (e *Engine) runRetention() {
	rest := min(max(e.cfg.Retention/purgeRestPart, purgeRestLeast), purgeRestMost)
	retry := e.cfg.RetryMin
	walk := e.newPurge()
	for e.scheduling.Err() == nil {
		more, err := e.purge(walk)
		pause := purgePause
		switch {
		case err != nil:
			e.cfg.Observer.problem(fmt.Errorf("deleting old instances, tried again: %w", err))
			pause, retry = retry, min(2*retry, e.cfg.RetryMax)
		case more:
			retry = e.cfg.RetryMin
		default:
			pause, retry, walk = rest, e.cfg.RetryMin, e.newPurge()
		}
		e.restUntilDrain(pause)
	}
}

func (e *Engine) newPurge() *backend.PurgeWalk {
	return &backend.PurgeWalk{Store: e.cfg.Backend.(backend.Purger), Shards: e.cfg.Backend.Shards(), Age: e.cfg.Retention}
}

func (e *Engine) purge(walk *backend.PurgeWalk) (more bool, err error) {
	ctx, cancel := e.callContext()
	defer cancel()
	p, more, err := walk.Step(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	if p.Completed+p.Failed+p.Canceled > 0 && e.cfg.Observer.Purged != nil {
		e.cfg.Observer.Purged(p, e.cfg.now())
	}
	return more, err
}
