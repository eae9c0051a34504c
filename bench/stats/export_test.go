package stats

// Holm is holm's adjusted p values.
func Holm(ps []float64) []float64 {
	adjusted, _ := holm(ps, 0)
	return adjusted
}
