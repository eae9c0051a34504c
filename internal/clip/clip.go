// Package clip keeps quoted text short.
package clip

// Runes gives the text, cut behind so many of its characters if it has more, with an ellipsis for the rest.
func Runes(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
