package journal

import (
	"context"
	"maps"
	"math/bits"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// The events of many instances alternate. A page of seqs without a live event is deleted as one range; on another page the dead
// events are named.

const (
	pageBits = 12
	pageSize = 1 << pageBits

	// sweepRows bounds the events that one sweep deletes.
	sweepRows = 4 * pageSize
)

// pages counts the events of a shard by page. The zero value is empty.
type pages struct {
	at   map[int64]*page
	dead int // events that can be deleted
}

// page covers pageSize seqs.
type page struct {
	stored int
	dead   int // of the stored events
	which  [pageSize / 64]uint64
}

func (ps *pages) add(seq int64) {
	if ps.at == nil {
		ps.at = map[int64]*page{}
	}
	p := ps.at[seq>>pageBits]
	if p == nil {
		p = &page{}
		ps.at[seq>>pageBits] = p
	}
	p.stored++
}

func (ps *pages) drop(seqs []int64) {
	for _, seq := range seqs {
		p := ps.at[seq>>pageBits]
		if p == nil {
			continue
		}
		bit := seq & (pageSize - 1)
		p.which[bit/64] |= 1 << (bit % 64)
		p.dead++
		ps.dead++
	}
}

func (p *page) seqs(number int64) []int64 {
	out := make([]int64, 0, p.dead)
	for i, word := range p.which {
		for ; word != 0; word &= word - 1 {
			out = append(out, number<<pageBits|int64(i*64+bits.TrailingZeros64(word)))
		}
	}
	return out
}

func (sh *shardState) sweep(ctx context.Context) (backend.Swept, error) {
	var out backend.Swept
	for _, number := range slices.Sorted(maps.Keys(sh.pages.at)) {
		p := sh.pages.at[number]
		if p.dead == 0 {
			continue
		}
		if out.Rows >= sweepRows {
			break
		}
		if err := sh.sweepPage(ctx, number, p); err != nil {
			return out, postgres.Explain(err)
		}
		out.Rows += p.dead
		sh.pages.dead -= p.dead
		p.stored -= p.dead
		p.dead, p.which = 0, [pageSize / 64]uint64{}
		if p.stored == 0 {
			delete(sh.pages.at, number)
		}
	}
	out.More = sh.pages.dead > 0
	return out, nil
}

func (sh *shardState) sweepPage(ctx context.Context, number int64, p *page) error {
	epoch := sh.epoch.Load()
	if p.dead < p.stored {
		_, err := sh.b.store.Pool.Exec(ctx, dropSomeSQL, sh.number, epoch, p.seqs(number))
		return err
	}
	_, err := sh.b.store.Pool.Exec(ctx, dropRangeSQL, sh.number, epoch, number<<pageBits, (number+1)<<pageBits)
	return err
}
