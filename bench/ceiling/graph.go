package ceiling

import (
	"strings"

	"github.com/google/uuid"

	"pulley/reports/record"
)

// FanOut returns the writes of instances whose node runs are branches of spreads of fanOutWidth, each awaited whole: an element
// and a counter increment per run.
func FanOut(nodes int) record.InstanceWrites {
	return record.InstanceWrites{Nodes: nodes, Elements: nodes, Raises: nodes, Counters: (nodes + fanOutWidth - 1) / fanOutWidth}
}

const fanOutWidth = 100

// graphWrites distributes an instance's writes evenly over its completions.
type graphWrites struct{ record.InstanceWrites }

// span is of writes of one kind, numbered from 0 within the instance.
type span struct{ from, to int64 }

type brought struct{ values, elements, raises span }

func (g *graphWrites) of(n int64) brought {
	nodes := int64(g.Nodes)
	share := func(all int) span { return span{n % nodes * int64(all) / nodes, (n%nodes + 1) * int64(all) / nodes} }
	return brought{share(g.Values), share(g.Elements), share(g.Raises)}
}

// before takes a completion numbered over all instances: from counts the writes before it.
func (g *graphWrites) before(n int64) brought {
	out, ended := g.of(n), n/int64(g.Nodes)
	for _, s := range []struct {
		in  *span
		all int
	}{{&out.values, g.Values}, {&out.elements, g.Elements}, {&out.raises, g.Raises}} {
		s.in.from, s.in.to = s.in.from+ended*int64(s.all), s.in.to+ended*int64(s.all)
	}
	return out
}

// counter returns the node of an increment's counter, and that counter's increments: neighbours share one.
func (g *graphWrites) counter(raise int64) (node, required int32) {
	raises, counters := int64(g.Raises), int64(g.Counters)
	c := raise * counters / raises
	first := func(c int64) int64 { return (c*raises + counters - 1) / counters }
	return int32(join + c), int32(first(c+1) - first(c))
}

type brings struct {
	values, elements struct{ ords, instances, places, values array }
	raises           struct{ ords, instances, counters, required array }
}

func (b *brings) begin() {
	for _, list := range []*struct{ ords, instances, places, values array }{&b.values, &b.elements} {
		list.ords.begin(intType)
		list.instances.begin(uuidType)
		list.places.begin(intType)
		list.values.begin(jsonType)
	}
	b.raises.ords.begin(intType)
	b.raises.instances.begin(uuidType)
	b.raises.counters.begin(intType)
	b.raises.required.begin(intType)
}

// add adds a completion's writes; ord is its number in the call.
func (b *brings) add(g *graphWrites, ord int32, n int64, instance uuid.UUID) {
	of := g.of(n)
	for _, list := range []struct {
		of   span
		into *struct{ ords, instances, places, values array }
	}{{of.values, &b.values}, {of.elements, &b.elements}} {
		for j := list.of.from; j < list.of.to; j++ {
			list.into.ords.int32(ord)
			list.into.instances.raw(instance[:])
			list.into.places.int32(int32(j))
			list.into.values.raw(payload)
		}
	}
	for j := of.raises.from; j < of.raises.to; j++ {
		node, required := g.counter(j)
		b.raises.ords.int32(ord)
		b.raises.instances.raw(instance[:])
		b.raises.counters.int32(node)
		b.raises.required.int32(required)
	}
}

func (b *brings) parts(ending int64) string {
	var parts []string
	for _, p := range []struct {
		name string
		n    uint32
	}{{"values", b.values.places.n}, {"elements", b.elements.places.n}, {"raises", b.raises.counters.n}, {"instances", uint32(ending)}} {
		if p.n > 0 {
			parts = append(parts, p.name)
		}
	}
	return strings.Join(parts, ",")
}
