package console_test

import (
	"testing"
	"time"

	"pulley/cmd/pulley/console"
)

func TestAges(t *testing.T) {
	for text, want := range map[string]struct {
		age   time.Duration
		shown string
	}{
		"30d": {720 * time.Hour, "30d"}, "1.5d": {36 * time.Hour, "36h0m0s"}, "720h": {720 * time.Hour, "30d"}, "90s": {90 * time.Second, "1m30s"}, "0s": {0, "0s"}, "-1d": {-24 * time.Hour, "-1d"},
	} {
		var got console.Age
		if err := got.UnmarshalText([]byte(text)); err != nil || got.Duration() != want.age || got.String() != want.shown {
			t.Errorf("%s is %v, %s, %v", text, got.Duration(), got, err)
		}
	}
	for _, text := range []string{"", "d", "30", "30 d", "NaNd", "1e300d", "Infd", "1w"} {
		var got console.Age
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
