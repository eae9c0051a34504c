package measure

import "time"

// WaitRatio is the longest mean wait of a client divided by the shortest, of clients that waited so long in all for so many
// results. Clients without a result do not count; with fewer than two clients, or no time, there is none.
func WaitRatio(waited []time.Duration, results []int) *float64 {
	var least, most time.Duration
	for i, n := range results {
		if n == 0 {
			continue
		}
		mean := waited[i] / time.Duration(n)
		if least == 0 || mean < least {
			least = mean
		}
		most = max(most, mean)
	}
	if len(results) < 2 || least == 0 {
		return nil
	}
	ratio := float64(most) / float64(least)
	return &ratio
}
