package dist

import "time"

// LogNormal is median · e^(sigma·N), N standard normal.
func LogNormal(median time.Duration, sigma float64) Times {
	return times(logNormal(float64(median), sigma, cut))
}

// Pareto is cut off at both ends, lo > 0: with u uniform in [0,1) and q = (lo/hi)^alpha, it is
// lo · (1 - u·(1 - q))^(-1/alpha).
func Pareto(lo, hi time.Duration, alpha float64) Times {
	return times(pareto(int64(lo), int64(hi), alpha, cut))
}

// Empirical draws one of the durations, each as likely. There must be one, and none may be negative.
func Empirical(list []time.Duration) (Times, error) {
	numbers := make([]int64, len(list))
	for i, d := range list {
		numbers[i] = int64(d)
	}
	s, err := empirical(numbers, Durations)
	return times(s.draw), err
}
