package pgsim

import (
	"bytes"
	"encoding/json"

	"pulley/sim/db"
	"pulley/sim/judge"
)

// StoredValues holds the values that are stored of an instance's variables against its model's, and counts them, and what is
// stored as an element of something.
func StoredValues(m *judge.Model, id int32, table *db.Table[ValueKey, json.RawMessage]) (values, appended int) {
	CommittedOf(table, id, func(k ValueKey, v json.RawMessage) {
		if k.Element >= 0 {
			appended++
			return
		}
		values++
		if want := m.Values[k.slot()]; !bytes.Equal(want, v) {
			m.Wrong("I4", "variable %d at %q is stored as %.60q; it is %.60q", k.ID, k.Path, v, want)
		}
	})
	return values, appended
}
