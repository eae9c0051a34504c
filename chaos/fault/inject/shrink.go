package inject

// Shrink leaves parts of a list of n out: everything, then halves, quarters and so on. without reports whether what is shown
// remains without the part from one index to another; then the part stays out, and later indexes are those of the shorter list.
func Shrink(n int, without func(from, to int) bool) {
	for part := n; part > 0; part /= 2 {
		for from := 0; from < n; {
			to := min(n, from+part)
			if without(from, to) {
				n -= to - from
			} else {
				from = to
			}
		}
	}
}
