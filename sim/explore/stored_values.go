package explore

import (
	"bytes"

	"pulley/sim/db"
)

// storedValues holds the values that are stored of an instance's variables against its twin's, and counts them, and what is
// stored as an element of something.
func storedValues[V any](t *twin, id int32, table *db.Table[valueKey, V], text func(V) []byte) (values, appended int) {
	table.CommittedFrom(valueKey{inst: id, id: math32}, func(k valueKey, v V) bool {
		if k.inst != id {
			return false
		}
		if k.element >= 0 {
			appended++
			return true
		}
		values++
		if got, want := text(v), t.Values[k.slot()]; !bytes.Equal(want, got) {
			t.wrong("I4", "variable %d at %q is stored as %.60q; it is %.60q", k.id, k.path, got, want)
		}
		return true
	})
	return values, appended
}
