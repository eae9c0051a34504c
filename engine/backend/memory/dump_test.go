package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
)

// Dump prints everything stored, one sorted line each: two stores are equal if and only if their dumps are. It leaves out
// sequences, which, like a database's, do not go back when a call fails.
func (b *Backend) Dump() string {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Values(s.instances))
	slices.SortFunc(all, func(x, y *instance) int {
		return cmp.Or(cmp.Compare(x.shard.number, y.shard.number), slices.Compare(x.ID[:], y.ID[:]))
	})
	var out strings.Builder
	for _, inst := range all {
		s.dump(inst, &out)
	}
	return out.String()
}

func (s *store) dump(inst *instance, out *strings.Builder) {
	hash := inst.program.Hash()
	fmt.Fprintf(out, "instance %s shard=%d program=%x status=%s", inst.ID, inst.shard.number, hash[:6], inst.status)
	if inst.result != nil {
		fmt.Fprintf(out, " result=%s", inst.result)
	}
	if f := inst.failure; f != nil {
		fmt.Fprintf(out, " failure=%q message=%q action=%q position=%s", f.Type, f.Message, f.Action, f.Pos)
	}
	out.WriteByte('\n')
	s.dumpRuns(inst, out)
	barriers := sorted(&inst.Barriers)
	for _, e := range barriers {
		if b := e.v; b.Required != 0 {
			fmt.Fprintf(out, "  readiness node=%d path=%q completed=%d required=%d soft=%t\n", e.ID, e.Path, b.Completed, b.Required, b.Soft)
		}
	}
	for _, e := range sorted(&inst.Slots) {
		fmt.Fprintf(out, "  slot var=%d scope=%q value=%s\n", e.ID, e.Path, e.v.Base)
		for i, more := range e.v.Appended {
			fmt.Fprintf(out, "  appended var=%d scope=%q index=%d value=%s\n", e.ID, e.Path, i, more)
		}
	}
	for _, e := range barriers {
		for i, v := range e.v.Elements {
			if v != nil {
				fmt.Fprintf(out, "  element node=%d path=%q index=%d value=%s\n", e.ID, e.Path, i, v)
			}
		}
	}
}

func (s *store) dumpRuns(inst *instance, out *strings.Builder) {
	for _, e := range sorted(&inst.Runs) {
		r := e.v
		held, at := "ready", "since"
		switch {
		case r.Place == state.NoQueue:
			fmt.Fprintf(out, "  queue node=%d path=%q done attempt=%d\n", e.ID, e.Path, r.Attempt)
			continue
		case r.Token != 0:
			held, at = fmt.Sprintf("leased token=%d owner=%q", r.Token, r.Holder), "until"
		case r.Place == state.Waiting:
			held, at = "waiting", "until"
		}
		fmt.Fprintf(out, "  queue node=%d path=%q %s %s=%s seq=%d attempt=%d action=%q",
			e.ID, e.Path, held, at, s.wall(r.Due).UTC().Format(time.RFC3339Nano), r.Order, r.Attempt, r.Action)
		for _, a := range r.Args {
			if a.Ref != nil {
				fmt.Fprintf(out, " %s=<%s>", a.Name, backend.FormatSlot(*a.Ref))
			} else {
				fmt.Fprintf(out, " %s=%s", a.Name, a.Value)
			}
		}
		out.WriteByte('\n')
	}
}
