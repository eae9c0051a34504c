package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const missing = "–"

// number formats three significant digits, with thousands separators: 0.0123, 3.00, 12.3, 1,235.
func number(v float64) string {
	switch size := math.Abs(v); {
	case v == 0:
		return "0"
	case size >= 999.5:
		return thousands(int64(math.Round(v)))
	case size < 0.0001:
		return strconv.FormatFloat(v, 'g', 3, 64)
	default:
		digits := 2 - int(math.Floor(math.Log10(size)))
		text := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
		if parsed, err := strconv.ParseFloat(text, 64); err == nil && digits > 0 && math.Abs(parsed) >= math.Pow10(3-digits) {
			return strconv.FormatFloat(v, 'f', digits-1, 64) // 9.999 was rounded to 10.00
		}
		return text
	}
}

func thousands(v int64) string {
	text := strconv.FormatInt(v, 10)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

func optional(v *float64) string {
	if v == nil {
		return missing
	}
	return number(*v)
}

func times(v float64) string { return number(v) + "×" }

type unit struct {
	name string
	size float64
}

var (
	timeUnits = []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	byteUnits = []unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}
)

// inUnits formats v in the largest unit in which it is at least one: 850 ns, 12.3 µs.
func inUnits(v float64, units []unit) string {
	u := units[0]
	for _, next := range units[1:] {
		if math.Abs(v) >= 0.9995*next.size {
			u = next
		}
	}
	if u.size == 1 && v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64) + " " + u.name
	}
	return number(v/u.size) + " " + u.name
}

func duration(ns float64) string { return inUnits(ns, timeUnits) }

// A kilobyte is 1,000 bytes.
func bytesText(v float64) string { return inUnits(v, byteUnits) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(int64(n)) + " " + noun + "s"
}

func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// instant uses UTC, so that a page does not depend on where it was made.
func instant(t time.Time) string {
	if t.IsZero() {
		return missing
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func clip(text string, runes int) string {
	r := []rune(text)
	if len(r) <= runes {
		return text
	}
	return string(r[:runes-1]) + "…"
}

// printable replaces unprintable characters, which could move a cursor or break a line or drawing, by question marks.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// span formats "3.00 to 3.10", or one figure if both look alike.
func span(lo, hi float64, format func(float64) string) string {
	a, b := format(lo), format(hi)
	if a == b {
		return a
	}
	return fmt.Sprintf("%s to %s", a, b)
}

func trimFloat(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
