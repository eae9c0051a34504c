// Package aligned lays out text in columns.
package aligned

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Write writes rows as columns, flush right except those in left.
func Write(b *bytes.Buffer, rows [][]string, left func(column int) bool) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			line.WriteString("  ")
			if left(i) {
				line.WriteString(c + pad)
			} else {
				line.WriteString(pad + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}
