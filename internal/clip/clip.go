// Package clip keeps quoted text short.
package clip

// Runes shortens the text to most characters and an ellipsis.
func Runes(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
