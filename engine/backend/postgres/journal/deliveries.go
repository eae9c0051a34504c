package journal

import (
	"context"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
)

// The deliveries of an attempt are counted in memory, and the count must outlive the owner. The first is not written: that would be a row
// for each node run. Each later one is appended as an event before it is handed out. An owner that takes the shard of one that is gone
// cannot know what had been handed out for the first time, and presumes it of all that could have been.

// deliverable says whether a run may be handed out: it is the attempt's first delivery, or the next one is noted.
func deliverable(r *state.Run) bool { return r.Counted == 0 || r.Noted > r.Counted }

// noteNext notes the next deliveries of the first runs that are ready, as far as they are to be.
func (sh *shardState) noteNext(ctx context.Context, most int) error {
	var runs []*state.Run
	sh.ready.First(most, func(r *state.Run) {
		if !deliverable(r) {
			runs = append(runs, r)
		}
	})
	return sh.note(ctx, runs, func(r *state.Run) int32 { return r.Counted + 1 })
}

// note makes counts of deliveries durable.
func (sh *shardState) note(ctx context.Context, runs []*state.Run, count func(*state.Run) int32) error {
	if len(runs) == 0 {
		return nil
	}
	t := sh.begin()
	for _, r := range runs {
		t.events = append(t.events, pendingEvent{inst: instanceOf(r), key: r.Key, kind: kindDelivery, data: appendInt(nil, int64(count(r)))})
	}
	sh.inFlight.noteApplied(t)
	done, err := sh.append(ctx, t)
	switch {
	case err != nil:
		return err
	case done.lost:
		return errLost
	}
	for _, r := range runs {
		r.Noted = count(r)
	}
	_, err = t.commit(backend.Grant{})
	return err
}

// returnLeases makes runs ready again whose holders give up their leases, before all others: the deliveries do not count.
func (sh *shardState) returnLeases(ctx context.Context, leases []backend.Lease, kept []bool) error {
	runs := make([]*state.Run, len(leases))
	var noted []*state.Run
	for i, l := range leases {
		if runs[i] = sh.heldRun(l); runs[i] != nil && runs[i].Noted >= runs[i].Counted {
			noted = append(noted, runs[i])
		}
	}
	if err := sh.note(ctx, noted, func(r *state.Run) int32 { return r.Counted - 1 }); err != nil {
		return err
	}
	for i, r := range runs {
		if kept[i] = r != nil && r.Token == leases[i].Token; !kept[i] {
			continue
		}
		sh.ready.PushFirst(r)
		r.Place, r.Token, r.Due = state.Ready, 0, sh.b.now()
		r.Counted--
		sh.file(r)
		if given := sh.b.leaseReturned; given != nil {
			given(r.Inst.ID, r.Key, int(r.Counted))
		}
	}
	return nil
}

// presumeDelivered counts the first delivery of all that an earlier owner may have handed out: what is ready, and what is due.
func (sh *shardState) presumeDelivered() {
	now := sh.b.now()
	for _, inst := range sh.instances {
		inst.Runs.Each(func(_ state.Address, r *state.Run) {
			if r.Place == state.Ready || r.Place == state.Waiting && r.Due <= now {
				r.Counted = max(r.Counted, 1)
			}
		})
	}
}
