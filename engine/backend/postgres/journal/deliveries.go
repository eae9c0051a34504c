package journal

import (
	"context"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/internal/journalstore"
)

// The deliveries of an attempt are counted in memory, but the count must outlive the owner. The first is not written: that would
// be a row for each node run. Each later one is appended before it is made. An owner that takes over from one that exited
// presumes the first delivery of every node run that could have been handed out.

// deliverable reports whether a node run may be handed out: no delivery was made, or the next one is durable.
func deliverable(r *state.Run) bool { return r.Counted == 0 || r.Noted > r.Counted }

func (sh *shardState) noteNext(ctx context.Context, most int) error {
	var runs []*state.Run
	sh.ready.First(most, func(r *state.Run) {
		if !deliverable(r) {
			runs = append(runs, r)
		}
	})
	return sh.note(ctx, runs, func(r *state.Run) int32 { return r.Counted + 1 })
}

func (sh *shardState) note(ctx context.Context, runs []*state.Run, count func(*state.Run) int32) error {
	if len(runs) == 0 {
		return nil
	}
	t := sh.begin()
	for _, r := range runs {
		t.events = append(t.events, pendingEvent{inst: instanceOf(r), key: r.Key, kind: journalstore.KindDelivery, data: appendInt(nil, int64(count(r)))})
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

// returnLeases makes node runs ready again, before all others, or after a pause. Their deliveries do not count.
func (sh *shardState) returnLeases(ctx context.Context, leases []backend.Lease, pause time.Duration, kept []bool) error {
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
		if r.Token = 0; pause > 0 {
			r.Place, r.Due = state.Waiting, sh.b.now()+int64(pause)
		} else {
			sh.ready.PushFirst(r)
			r.Place, r.Due = state.Ready, sh.b.now()
		}
		r.Counted--
		sh.file(r)
		if given := sh.b.leaseReturned; given != nil {
			given(r.Inst.ID, r.Key, int(r.Counted))
		}
	}
	return nil
}

// presumeDelivered counts a first delivery of all ready and due node runs, which an earlier owner may have handed out.
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
