package knee

import (
	"math"
	"slices"
)

// Closed is the result of a closed loop: InFlight instances at once, the next whenever one ends.
type Closed struct {
	InFlight int
	PerS     float64 // ended instances per second
}

// NextInFlight returns the number in flight for which a closed loop would reach a rate, based on one or more closed loops with
// other numbers. more is false when a loop is within a tenth of the rate, or as near as a whole number can be. best is then its
// index: the loop with the fewest in flight of those within a tenth, else the nearest.
func NextInFlight(done []Closed, perS float64) (inFlight int, best int, more bool) {
	off := func(c Closed) float64 { return math.Abs(math.Log(c.PerS / perS)) }
	near := func(c Closed) bool { return off(c) <= math.Log(1.1) }
	for i, c := range done {
		switch {
		case near(c) && near(done[best]):
			if c.InFlight < done[best].InFlight {
				best = i
			}
		case off(c) < off(done[best]):
			best = i
		}
	}
	if near(done[best]) {
		return 0, best, false
	}
	// Between the two enclosing loops, the rate is about a power of the number.
	below, above := Closed{}, Closed{InFlight: math.MaxInt, PerS: math.Inf(1)}
	for _, c := range done {
		if c.PerS <= perS && c.InFlight > below.InFlight {
			below = c
		}
		if c.PerS > perS && c.InFlight < above.InFlight {
			above = c
		}
	}
	next := 0.0
	switch {
	case above.InFlight == math.MaxInt:
		next = math.Ceil(float64(below.InFlight) * min(perS/below.PerS, 4))
	case below.InFlight == 0:
		next = math.Floor(float64(above.InFlight) * max(perS/above.PerS, 0.1))
	case below.InFlight > above.InFlight: // noise
		return 0, best, false
	case above.InFlight-below.InFlight == 1: // adjacent whole numbers
		return 0, best, false
	default:
		power := math.Log(perS/below.PerS) / math.Log(above.PerS/below.PerS)
		next = math.Round(float64(below.InFlight) * math.Pow(float64(above.InFlight)/float64(below.InFlight), power))
		next = min(max(next, float64(below.InFlight+1)), float64(above.InFlight-1))
	}
	inFlight = max(int(next), 1)
	if slices.ContainsFunc(done, func(c Closed) bool { return c.InFlight == inFlight }) {
		return 0, best, false
	}
	return inFlight, best, true
}
