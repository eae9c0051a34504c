package scenarios_test

import (
	"strings"
	"testing"
	"time"

	"pulley/scenarios"
	"pulley/scenarios/dist"
)

func TestPressureIsChecked(t *testing.T) {
	err := scenarios.Pressure{Readers: -1, Connections: 1, RoundTrip: time.Hour, ReadEvery: -1, Sleepers: 1 << 40}.Validate()
	if err == nil {
		t.Fatal("everything is taken")
	}
	for _, want := range []string{"readers is -1", "connections is 1", "round_trip is 1h", "read_every is -1", "sleepers is"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
	if text := (scenarios.Pressure{HeldTransaction: true, Readers: 3}).String(); text != "a transaction held open, 3 readers" {
		t.Errorf("said as %q", text)
	}
	if large := (scenarios.Pressure{Payload: &dist.Law{}}); large.None() || large.OnStore() {
		t.Errorf("%v presses on the store, or nothing does", large)
	}
	if c := (scenarios.Pressure{ReadEvery: time.Second}); !c.None() || c.String() != "none" {
		t.Errorf("%v presses", c)
	}
}
