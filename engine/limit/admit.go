package limit

// Places are the places of a limit of instances.
type Places struct {
	Free int
	Have []bool // of the candidates, which have a place already
}

// Admit decides which of n candidates get places, in their order: those for whom each limit has one. It reports which do, and of those
// that do not, by index into places, which limit is full. Its inputs are not changed.
func Admit(n int, places []Places) (admitted []bool, full []int) {
	free := make([]int, len(places))
	for i, p := range places {
		free[i] = p.Free
	}
	admitted, full = make([]bool, n), make([]int, n)
	for c := range n {
		full[c] = -1
		for i, p := range places {
			if !p.Have[c] && free[i] <= 0 {
				full[c] = i
				break
			}
		}
		if admitted[c] = full[c] < 0; !admitted[c] {
			continue
		}
		for i, p := range places {
			if !p.Have[c] {
				free[i]--
			}
		}
	}
	return admitted, full
}
