package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": func(seconds float64) string {
		return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
	},
	"number": groupDigits,
	"minute": func(t time.Time) string { return t.Format("2006-01-02 15:04 MST") },
}).Parse(pageText))

// groupDigits writes a number with its digits in groups of three.
func groupDigits(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// writePage writes the report of a night: one file that opens offline.
func writePage(file string, t *totals) error {
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, t); err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", page.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
