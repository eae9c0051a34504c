// Package nearest suggests a known word for an unknown one.
package nearest

// Word returns the first of the nearest words, or "" if more than one letter and a third of the text would have to change.
func Word(text string, words []string) string {
	best, least := "", 1+len([]rune(text))/3
	for _, w := range words {
		if d := Distance(text, w); d <= least && (best == "" || d < least) {
			best, least = w, d
		}
	}
	return best
}

// Distance counts the characters to insert, delete, replace or swap with their neighbour to convert one text to the other
// (optimal string alignment: each changes at most once).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	above, row := make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		next := make([]int, len(to)+1)
		next[0] = i + 1
		for j := range to {
			changed := row[j]
			if from[i] != to[j] {
				changed++
			}
			next[j+1] = min(changed, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row = row, next
	}
	return row[len(to)]
}
