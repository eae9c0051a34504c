package changepoint

func TTest(values []float64, at int) float64 {
	return newPoint(values, 0, candidate{index: at}, len(values)).P
}

func Split(values []float64) (index int, q float64) {
	c := new(divider).split(values)
	return c.index, c.q
}
