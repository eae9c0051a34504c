package ceiling

import (
	"encoding/binary"
	"slices"
	"testing"

	"pulley/reports/record"
)

// joining has some of everything, in numbers that do not divide each other.
var joining = record.InstanceWrites{Nodes: 7, Values: 10, Elements: 3, Raises: 5, Counters: 2}

func TestWritesAreSpread(t *testing.T) {
	for _, w := range []record.InstanceWrites{joining, {Nodes: 5}, FanOut(10), FanOut(250), {Nodes: 1, Values: 4, Raises: 9, Counters: 9}} {
		g := graphWrites{w}
		var sum record.InstanceWrites
		required, raised := map[int32]int32{}, map[int32]int32{}
		for n := range int64(3 * w.Nodes) {
			before, of := g.before(n), g.of(n)
			if got := (record.InstanceWrites{Values: int(before.values.from), Elements: int(before.elements.from), Raises: int(before.raises.from)}); got != sum {
				t.Fatalf("%+v: before completion %d came %+v, counted %+v", w, n, got, sum)
			}
			sum.Values += int(of.values.to - of.values.from)
			sum.Elements += int(of.elements.to - of.elements.from)
			sum.Raises += int(of.raises.to - of.raises.from)
			for j := of.raises.from; j < of.raises.to; j++ {
				node, all := g.counter(j)
				required[node] = all
				raised[node]++
			}
		}
		if want := (record.InstanceWrites{Values: 3 * w.Values, Elements: 3 * w.Elements, Raises: 3 * w.Raises}); sum != want {
			t.Errorf("%+v: three instances write %+v", w, sum)
		}
		if len(required) != w.Counters {
			t.Errorf("%+v: %d counters", w, len(required))
		}
		for node, n := range raised {
			if n != 3*required[node] {
				t.Errorf("%+v: the counter of node %d is raised %d times in three instances, and waits for %d", w, node, n, required[node])
			}
		}
	}
}

func TestGraphsAreWritten(t *testing.T) {
	s := lot(t, pushDesign)
	for way, batch := range map[string]int{record.CeilingStatements: 1, record.CeilingCall: 1, record.CeilingBatched: 35} {
		if err := s.empty(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := graphed(t, s, way, batch, joining)
		const completions = 70
		for n := 0; n < completions; n += batch {
			if err := w.call(t.Context()); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
		}
		if err := s.check(t.Context(), w.tally()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		for what, want := range map[string]int64{
			"SELECT count(*) FROM inbox":                                                       100,
			"SELECT sum(cardinality(places)) FROM elements":                                    30,
			"SELECT count(*) FROM readiness WHERE completed = required":                        20,
			"SELECT sum(completed) FROM readiness":                                             50,
			"SELECT count(DISTINCT instance_id) FROM readiness JOIN inbox USING (instance_id)": 10,
		} {
			if got := countOf(t, s.conn, what); got != want {
				t.Errorf("%s: %s: %d, want %d", way, what, got, want)
			}
		}
		packed := countOf(t, s.conn, "SELECT count(*) FROM elements")
		if want := map[bool]int64{true: 10, false: 30}[way == record.CeilingBatched]; packed != want {
			t.Errorf("%s: elements have %d rows, want %d", way, packed, want)
		}
	}
}

// The other way stores the same events in rows of their own.
func TestPackedEventsAreWhole(t *testing.T) {
	s := lot(t, journalDesign)
	w := shaped(t, s, record.CeilingPacked, 200, 9)
	for range 3 {
		if err := w.call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.check(t.Context(), w.tally()); err != nil {
		t.Error(err)
	}
	rows, err := s.conn.Query(t.Context(), "SELECT seq, data FROM packs ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	st, seq, next := w.(*appended).stream, int64(1), int64(0)
	for rows.Next() {
		var first int64
		var data []byte
		if err := rows.Scan(&first, &data); err != nil {
			t.Fatal(err)
		}
		if first != seq || len(data) > packMax {
			t.Fatalf("a row of %d bytes begins with event %d, want %d", len(data), first, seq)
		}
		count := binary.BigEndian.Uint16(data)
		data = data[2:]
		for range count {
			for st.modelled.last(next) {
				next++
			}
			id, path := st.instanceOf(next), st.path(next)
			want := slices.Concat(id[:], big32(element), bigShort(int16(len(path))), path, bigShort(int16(len(payload))), payload)
			if len(data) < len(want) || !slices.Equal(data[:len(want)], want) {
				t.Fatalf("event %d is %q, want %q", seq, data[:min(len(data), len(want))], want)
			}
			data, seq, next = data[len(want):], seq+1, next+1
		}
		if len(data) > 0 {
			t.Errorf("%d bytes are left of a row", len(data))
		}
	}
	if err := rows.Err(); err != nil || seq-1 != 600-600/9 {
		t.Errorf("%d events, %v", seq-1, err)
	}
}
