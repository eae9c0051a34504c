package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	"pulley/engine/backend"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

type kinds uint8

const (
	events     kinds = 1 << iota
	eventKinds       // some are not results, or their time matters
	ends
	endKinds // some did not complete
	creations
	creationKinds // some ended at once
	skipExisting  // some exist already
	snapshots

	everything kinds = 1<<iota - 1
)

var partNeeded = map[string]func(kinds) bool{
	"events": func(k kinds) bool { return k&events != 0 }, "kinds": func(k kinds) bool { return k&eventKinds != 0 },
	"results": func(k kinds) bool { return k&eventKinds == 0 },
	"ends":    func(k kinds) bool { return k&ends != 0 }, "statuses": func(k kinds) bool { return k&endKinds != 0 },
	"completed": func(k kinds) bool { return k&endKinds == 0 },
	"created":   func(k kinds) bool { return k&creations != 0 }, "over": func(k kinds) bool { return k&creationKinds != 0 },
	"running": func(k kinds) bool { return k&creationKinds == 0 }, "known": func(k kinds) bool { return k&skipExisting != 0 },
	"snapshots": func(k kinds) bool { return k&snapshots != 0 },
}

type statement struct {
	name, sql  string
	parameters []int // the indices in buffers.args of $1, $2, …
}

var statements [int(everything) + 1]func() statement

func init() {
	for k := range statements {
		statements[k] = sync.OnceValue(func() statement {
			sql, parameters := pgstore.CutDown(appendSQL, func(part string) bool { return partNeeded[part](kinds(k)) })
			return statement{fmt.Sprintf("journal_append_%d", k), sql, parameters}
		})
	}
}

// buffers hold the parameters of one append and are reused. They are sent as binary arrays: a general encoder would cost more for
// each value than all the rest of a completion.
type buffers struct {
	kinds kinds

	instance, node, path, data, kind, timed                                           pgstore.Array
	ended, result, by, status, failure                                                pgstore.Array
	created, workflow, input, createdStatus, createdResult, createdFailure, createdBy pgstore.Array
	snapped, snapshot                                                                 pgstore.Array

	wire []byte   // all parameters
	cuts []int    // the end of each
	args [][]byte // slices of wire
}

func newBuffers() buffers {
	return buffers{
		instance: pgstore.UUIDs(), node: pgstore.Int4s(), path: pgstore.Texts(), data: pgstore.Byteas(),
		kind: pgstore.Int4s(), timed: pgstore.Bools(),
		ended: pgstore.UUIDs(), result: pgstore.JSONs(), by: pgstore.Int8s(), status: pgstore.Texts(), failure: pgstore.JSONs(),
		created: pgstore.UUIDs(), workflow: pgstore.Int4s(), input: pgstore.JSONs(),
		createdStatus: pgstore.Texts(), createdResult: pgstore.JSONs(), createdFailure: pgstore.JSONs(), createdBy: pgstore.Int8s(),
		snapped: pgstore.UUIDs(), snapshot: pgstore.Int8s(),
	}
}

func (b *buffers) arrays() []*pgstore.Array {
	return []*pgstore.Array{
		&b.instance, &b.node, &b.path, &b.data, &b.kind, &b.timed,
		&b.ended, &b.result, &b.by, &b.status, &b.failure,
		&b.created, &b.workflow, &b.input, &b.createdStatus, &b.createdResult, &b.createdFailure, &b.createdBy,
		&b.snapped, &b.snapshot,
	}
}

func (b *buffers) write(t *tx, seq int64) ([][]byte, error) {
	arrays := b.arrays()
	for _, a := range arrays {
		a.Reset()
	}
	b.kinds = 0
	b.events(t.events, seq)
	for i := range t.ends {
		if err := b.end(&t.ends[i]); err != nil {
			return nil, err
		}
	}
	for i := range t.created {
		if err := b.addCreated(&t.created[i]); err != nil {
			return nil, err
		}
	}
	b.wire = binary.BigEndian.AppendUint16(b.wire[:0], uint16(t.sh.number))
	b.wire = binary.BigEndian.AppendUint64(b.wire, uint64(t.sh.epoch.Load()))
	b.wire = binary.BigEndian.AppendUint64(b.wire, uint64(seq-1))
	b.cuts = append(b.cuts[:0], 2, 10, 18)
	for _, a := range arrays {
		b.wire = a.Append(b.wire)
		b.cuts = append(b.cuts, len(b.wire))
	}
	b.args = b.args[:0]
	from := 0
	for _, to := range b.cuts {
		b.args = append(b.args, b.wire[from:to])
		from = to
	}
	return b.args, nil
}

// events encodes the events of instances that continue; of others the end says everything.
func (b *buffers) events(list []pendingEvent, seq int64) {
	for i := range list {
		e := &list[i]
		if e.inst.Detached {
			continue
		}
		b.kinds |= events
		if e.kind != journalstore.KindResult || e.timed {
			b.kinds |= eventKinds
		}
		b.instance.UUID(e.inst.ID)
		b.node.Int4(int32(e.key.Node))
		b.path.Text(string(e.key.Path))
		b.data.Bytes(e.data)
		b.kind.Int4(int32(e.kind))
		b.timed.Bool(e.timed)
		if e.kind == journalstore.KindSnapshot {
			b.kinds |= snapshots
			b.snapped.UUID(e.inst.ID)
			b.snapshot.Int8(seq)
		}
		seq++
	}
}

func (b *buffers) end(e *ending) error {
	failure, err := failureOf(e)
	if err != nil {
		return err
	}
	b.kinds |= ends
	if e.public.Status != backend.Completed {
		b.kinds |= endKinds
	}
	b.ended.UUID(e.public.ID)
	b.result.Bytes(e.public.Result)
	b.by.Int8(e.token)
	b.status.Text(string(e.public.Status))
	b.failure.Bytes(failure)
	return nil
}

func (b *buffers) addCreated(e *ending) error {
	failure, err := failureOf(e)
	if err != nil {
		return err
	}
	b.kinds |= creations
	if e.public.Status != backend.Running {
		b.kinds |= creationKinds
	}
	b.created.UUID(e.public.ID)
	b.workflow.Int4(e.inst.workflow)
	b.input.Bytes(e.input)
	b.createdStatus.Text(string(e.public.Status))
	b.createdResult.Bytes(e.public.Result)
	b.createdFailure.Bytes(failure)
	b.createdBy.Int8(e.token)
	return nil
}

func failureOf(e *ending) ([]byte, error) {
	if e.public.Failure == nil {
		return nil, nil
	}
	failure, err := json.Marshal(e.public.Failure)
	if err != nil {
		return nil, fmt.Errorf("instance %s: its failure: %w", e.public.ID, err)
	}
	return failure, nil
}

func appendInt(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func readInt(data []byte) (int64, bool) {
	v, n := binary.Varint(data)
	return v, n > 0
}
