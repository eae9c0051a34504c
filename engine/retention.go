package engine

import (
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

// retentionTurns delete instances that ended longer ago than the retention.
func (e *Engine) retentionTurns() turns {
	rest := min(max(e.cfg.Retention/purgeRestPart, purgeRestLeast), purgeRestMost)
	walk := e.newPurge()
	return turns{what: "deleting old instances", take: func() (time.Duration, error) {
		more, err := e.purge(walk)
		if more || err != nil {
			return purgePause, err
		}
		walk = e.newPurge()
		return rest, nil
	}}
}

func (e *Engine) newPurge() *backend.PurgeWalk {
	return &backend.PurgeWalk{Store: e.cfg.Backend.(backend.Purger), Shards: e.cfg.Backend.Shards(), Age: e.cfg.Retention}
}

func (e *Engine) purge(walk *backend.PurgeWalk) (more bool, err error) {
	ctx, cancel := e.callContext()
	defer cancel()
	p, more, err := walk.Step(ctx)
	err = explain(ctx, err)
	if p.Completed+p.Failed+p.Canceled > 0 && e.cfg.Observer.Purged != nil {
		e.cfg.Observer.Purged(p, e.cfg.now())
	}
	return more, err
}
