package ceiling

import (
	"testing"

	"pulley/reports/record"
)

// AppendedPerNode returns the rows inserted and updated per completion, by the server's counters.
func AppendedPerNode(t *testing.T, nodes int) (inserted, updated float64) {
	t.Helper()
	s := lot(t, journalDesign)
	w := shaped(t, s, record.CeilingAppend, 100, nodes).(*appended)
	if err := w.plain(t.Context(), "begin"); err != nil { // the counters are a transaction's
		t.Fatal(err)
	}
	counters := func() (ins, upd int64) {
		const sums = "SELECT sum(n_tup_ins)::bigint, sum(n_tup_upd)::bigint FROM pg_stat_xact_user_tables WHERE schemaname = $1"
		if err := w.conn.QueryRow(t.Context(), sums, s.schema).Scan(&ins, &upd); err != nil {
			t.Fatal(err)
		}
		return ins, upd
	}
	insBefore, updBefore := counters()
	for range 20 {
		if err := w.call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ins, upd := counters()
	if err := w.plain(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
	return float64(ins-insBefore) / float64(w.next), float64(upd-updBefore) / float64(w.next)
}
