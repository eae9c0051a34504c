package pgsim

import (
	"bytes"
	"encoding/json"

	"pulley/sim/db"
	"pulley/sim/judge"
)

// StoredValues compares the stored values of an instance's variables with the model's. It counts the values, and the stored
// elements.
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
