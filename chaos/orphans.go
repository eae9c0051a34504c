package chaos

import (
	"bytes"
	"encoding/json"
	"sync"

	"pulley/engine/backend"
	"pulley/engine/oracle"
)

// orphans are the leases of ended engine processes until others have them: a claim in their shard takes them over once they have
// expired.
type orphans struct {
	mu     sync.Mutex
	shards int
	leases map[orphanKey]orphan
}

type orphanKey struct{ instance, node, path string }

type orphan struct {
	shard int
	until int64
}

func newOrphans(shards int) *orphans {
	return &orphans{shards: shards, leases: map[orphanKey]orphan{}}
}

func keyOf(e *oracle.Event) orphanKey { return orphanKey{e.Instance, e.Node, e.Path} }

// leave reads the leases that a process held from what it logged.
func (o *orphans) leave(said []byte) {
	held := map[orphanKey]orphan{}
	for line := range bytes.Lines(said) {
		var e oracle.Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch e.Kind {
		case oracle.Leased:
			held[keyOf(&e)] = orphan{backend.ShardOf(idOf(e), o.shards), e.UntilNS}
		case oracle.Renewed:
			if was, known := held[keyOf(&e)]; known && e.UntilNS > was.until {
				held[keyOf(&e)] = orphan{was.shard, e.UntilNS}
			}
		case oracle.Answered:
			if e.Answer == oracle.AnswerApplied || e.Answer == oracle.AnswerStale {
				delete(held, keyOf(&e))
			}
		case oracle.Released:
			delete(held, keyOf(&e))
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, lease := range held {
		o.leases[k] = lease
	}
}

func (o *orphans) handleEvent(kind oracle.Kind, line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.leases) == 0 || kind != oracle.Leased && kind != oracle.Ended && kind != oracle.LookedUp {
		return
	}
	var e oracle.Event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if kind == oracle.Leased {
		delete(o.leases, keyOf(&e))
		return
	}
	for k := range o.leases {
		if k.instance == e.Instance && e.Status != oracle.Running {
			delete(o.leases, k)
		}
	}
}

// due reports whether some have expired in a shard.
func (o *orphans) due(shard int) bool {
	now := oracle.MachineClock()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, lease := range o.leases {
		if lease.shard == shard && lease.until < now {
			return true
		}
	}
	return false
}
