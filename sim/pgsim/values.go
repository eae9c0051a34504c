package pgsim

import (
	"bytes"
	"encoding/json"

	"pulley/engine/plan"
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
		HoldsValue(m, k.slot(), v)
	})
	return values, appended
}

// HoldsValue holds a value that is stored of a variable against its model's.
func HoldsValue(m *judge.Model, slot plan.Slot, stored json.RawMessage) {
	if want := m.Values[slot]; !bytes.Equal(want, stored) {
		m.Wrong("I4", "variable %d at %q is stored as %.60q; it is %.60q", slot.Var, slot.Scope, stored, want)
	}
}
