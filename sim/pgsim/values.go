package pgsim

import (
	"bytes"

	"pulley/sim/db"
	"pulley/sim/judge"
)

// StoredValues holds the values that are stored of an instance's variables against its model's, and counts them, and what is
// stored as an element of something.
func StoredValues[V any](m *judge.Model, id int32, table *db.Table[ValueKey, V], text func(V) []byte) (values, appended int) {
	table.CommittedFrom(ValueKey{Inst: id, ID: FirstID}, func(k ValueKey, v V) bool {
		if k.Inst != id {
			return false
		}
		if k.Element >= 0 {
			appended++
			return true
		}
		values++
		if got, want := text(v), m.Values[k.slot()]; !bytes.Equal(want, got) {
			m.Wrong("I4", "variable %d at %q is stored as %.60q; it is %.60q", k.ID, k.Path, got, want)
		}
		return true
	})
	return values, appended
}
