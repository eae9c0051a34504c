package sim

func push(h *[]int, v int) {
	s := append(*h, v)
	i := len(s) - 1
	for up := (i - 1) / 2; i > 0 && s[up] > s[i]; up = (i - 1) / 2 {
		s[i], s[up] = s[up], s[i]
		i = up
	}
	*h = s
}

func pop(h *[]int) int {
	s := *h
	least, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		kid := 2*i + 1
		if kid+1 < last && s[kid+1] < s[kid] {
			kid++
		}
		if kid >= last || s[i] <= s[kid] {
			*h = s
			return least
		}
		s[i], s[kid] = s[kid], s[i]
		i = kid
	}
}
