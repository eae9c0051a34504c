package systems

import (
	"strings"
	"testing"

	"pulley/adapter/judge"
	"pulley/adapter/trial"
)

// A violation that was not seen again may be one of the machine, and is not called one.
func TestAnInterruptedRepetitionDecidesNothing(t *testing.T) {
	first := &trial.Result{Verdict: &judge.Verdict{Result: judge.Breaks}}
	for confirmed, want := range map[int]string{0: "decides nothing", 1: "the violation and its smallest case"} {
		if got := interruptedText(&trial.Finding{First: first, Confirmed: confirmed, Interrupted: true}); !strings.Contains(got, want) {
			t.Errorf("seen again %d times: %q, want %q", confirmed, got, want)
		}
	}
}
