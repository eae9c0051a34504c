package ceiling

import (
	"strings"
	"testing"

	"pulley/internal/pgtest"
)

// Rows that were not written would be an error of the measurement itself.
func TestInsertsAreMeasured(t *testing.T) {
	got, err := MeasureInserts(t.Context(), Config{DSN: pgtest.DSN(t), Connections: []int{1, 3}, Duration: MinDuration})
	if err != nil || len(got) != 2 || got[1].Connections != 3 || got[0].RowsPerS <= 0 || got[1].RowsPerS <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestInsertsRefuse(t *testing.T) {
	_, err := MeasureInserts(t.Context(), Config{DSN: "any", Connections: []int{65}})
	if err == nil || !strings.Contains(err.Error(), "65 connections") {
		t.Error(err)
	}
}
