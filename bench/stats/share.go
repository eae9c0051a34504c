package stats

import "gonum.org/v1/gonum/stat/distuv"

// ShareInterval encloses the probability of an event that came in found of tries independent tries, with at least the confidence:
// the exact interval of Clopper and Pearson (1934). Without tries, it is from 0 to 1.
func ShareInterval(found, tries int, confidence float64) (lo, hi float64) {
	tail := (1 - confidence) / 2
	lo, hi = 0, 1
	if found > 0 {
		lo = distuv.Beta{Alpha: float64(found), Beta: float64(tries - found + 1)}.Quantile(tail)
	}
	if found < tries {
		hi = distuv.Beta{Alpha: float64(found + 1), Beta: float64(tries - found)}.Quantile(1 - tail)
	}
	return lo, hi
}
