// Package nearest finds what was probably meant by a word that is not known.
package nearest

// Word gives the word that is nearest to a text, the first of several, and "" where none is near: where more than one
// letter and a third of the text would have to change, another word was meant.
func Word(text string, words []string) string {
	best, least := "", 1+len([]rune(text))/3
	for _, w := range words {
		if d := Distance(text, w); d <= least && (best == "" || d < least) {
			best, least = w, d
		}
	}
	return best
}

// Distance counts the characters to insert, delete or replace to make one text of the other (Levenshtein).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			changed := diagonal
			if x != y {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
