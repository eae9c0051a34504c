package race

import (
	"fmt"
	"io"
	"os"
	"strings"

	"pulley/reports/record"
)

// The markers around the race's part of a page.
const (
	beginMarker = "<!-- peers: begin (make peers writes what stands between) -->"
	endMarker   = "<!-- peers: end -->"
)

// WriteReadme puts the record's text between the markers of a page, which must have exactly one pair.
func (r *Record) WriteReadme(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	out, err := splice(string(page), r.Markdown())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return record.WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, out)
		return err
	})
}

func splice(page, text string) (string, error) {
	if strings.Count(page, beginMarker) != 1 || strings.Count(page, endMarker) != 1 {
		return "", fmt.Errorf("it needs one line %q and one line %q after it", beginMarker, endMarker)
	}
	head, rest, _ := strings.Cut(page, beginMarker)
	_, tail, ok := strings.Cut(rest, endMarker)
	if !ok {
		return "", fmt.Errorf("the line %q must stand before the line %q", beginMarker, endMarker)
	}
	return head + beginMarker + "\n\n" + strings.TrimSpace(text) + "\n\n" + endMarker + tail, nil
}
