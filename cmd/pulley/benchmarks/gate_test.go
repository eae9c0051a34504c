package benchmarks

import (
	"math"
	"math/rand/v2"
	"testing"

	"pulley/bench/gate"
)

// TestGateHasEnoughPairs judges turns as noisy as on a machine with random other load, where 20 pairs found 16 of 20 slowdowns
// of 10 %: the default number of pairs finds 19 of 20.
func TestGateHasEnoughPairs(t *testing.T) {
	const (
		tries = 400
		noise = 0.138 // of the logarithm of a pair's ratio: with it 20 pairs find 80 %
	)
	found := func(pairs int) (share float64) {
		r := rand.New(rand.NewPCG(1, uint64(pairs)))
		for range tries {
			sides := [2]gate.Side{{Name: "as it is"}, {Name: "planted"}}
			var before, after []float64
			for range pairs {
				drift := math.Exp(r.NormFloat64()) // both turns of a pair have it
				before = append(before, drift)
				after = append(after, 1.1*drift*math.Exp(noise*r.NormFloat64()))
			}
			for _, figure := range []string{gate.FigureTime, gate.FigureCPU} { // they go together
				for i, values := range [][]float64{before, after} {
					sides[i].Series = append(sides[i].Series, gate.Series{Key: gate.Key{Row: "fanout", Figure: figure}, Machine: "this one", Values: values})
				}
			}
			report, err := gate.Judge(sides[0], sides[1], gate.Options{Paired: true})
			if err != nil {
				t.Fatal(err)
			}
			if worse(report, gate.FigureTime) {
				share += 1.0 / tries
			}
		}
		return share
	}
	if share := found((&GateCmd{}).pairs()); share < 0.95 {
		t.Errorf("by default %.0f %% are found; want 95", 100*share)
	}
	if share := found(20); share < 0.7 || share > 0.9 {
		t.Errorf("with 20 pairs %.0f %% are found, where 80 were measured: the noise is not that of the machine", 100*share)
	}
}
