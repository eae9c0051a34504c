// Package units formats figures for people: with a unit, three significant digits, and a dash for a missing figure.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Missing stands for a figure that does not exist.
const Missing = "–"

// Number formats three significant digits, with thousands separators: 0.0123, 3.00, 12.3, 1,235.
func Number(v float64) string {
	switch size := math.Abs(v); {
	case v == 0:
		return "0"
	case size >= 999.5:
		return Thousands(int64(math.Round(v)))
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

// Thousands formats 1,234,567.
func Thousands(v int64) string {
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

// Optional formats a number, or Missing for nil.
func Optional(v *float64) string {
	if v == nil {
		return Missing
	}
	return Number(*v)
}

// Times formats a ratio: "2.50×".
func Times(v float64) string { return Number(v) + "×" }

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
	return Number(v/u.size) + " " + u.name
}

// Duration formats nanoseconds: "12.3 µs".
func Duration(ns float64) string { return inUnits(ns, timeUnits) }

// Bytes formats bytes; a kilobyte is 1,000 bytes.
func Bytes(v float64) string { return inUnits(v, byteUnits) }

// Plural formats "1 node" and "1,234 nodes"; more is an irregular plural.
func Plural(n int, noun string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(more) > 0:
		return Thousands(int64(n)) + " " + more[0]
	}
	return Thousands(int64(n)) + " " + noun + "s"
}

// MiddleAndTail formats the median and the 99th percentile of times, as they stand beside a row.
func MiddleAndTail(p50, p99 string) string { return "p50 " + p50 + " · p99 " + p99 }

// List formats "a, b and c".
func List(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// Instant formats a time, or Missing for zero. It uses UTC, so that a page does not depend on where it was made.
func Instant(t time.Time) string {
	if t.IsZero() {
		return Missing
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Clip shortens a text to that many runes, the last of which is then an ellipsis.
func Clip(text string, runes int) string {
	r := []rune(text)
	if len(r) <= runes {
		return text
	}
	return string(r[:runes-1]) + "…"
}

// Printable replaces unprintable characters, which could move a cursor or break a line or drawing, by question marks.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// Span formats "3.00 to 3.10", or one figure if both look alike.
func Span(lo, hi float64, format func(float64) string) string {
	a, b := format(lo), format(hi)
	if a == b {
		return a
	}
	return fmt.Sprintf("%s to %s", a, b)
}

// Percent formats a share of 1: "12.3 %".
func Percent(share float64) string { return Number(100*share) + " %" }

// Unit is what a figure counts. Its text is the same in the data of a page, whose script formats figures too.
type Unit string

// The units of figures.
const (
	None        Unit = ""
	Nanoseconds Unit = "ns"
	Seconds     Unit = "s"
	ByteCount   Unit = "bytes"
	Share       Unit = "share" // of 1, shown in percent
	Ratio       Unit = "×"
	Percentile  Unit = "percentile" // 1/(1-p), shown as p99
)

// Format formats a figure.
func (u Unit) Format(v float64) string {
	switch u {
	case Nanoseconds:
		return Duration(v)
	case Seconds:
		return Number(v) + " s"
	case ByteCount:
		return Bytes(v)
	case Share:
		return Percent(v)
	case Ratio:
		return Times(v)
	case Percentile:
		return percentile(v)
	}
	return Number(v)
}

// Tick formats a figure at a tick of an axis, where it is round, shorter than Format does.
func (u Unit) Tick(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0:
		return "-" + u.Tick(-v)
	}
	switch u {
	case Nanoseconds:
		return tickIn(v, timeUnits)
	case Seconds:
		return tickNumber(v)
	case ByteCount:
		return tickIn(v, byteUnits)
	case Share:
		return tickNumber(100*v) + " %"
	case Ratio:
		return tickNumber(v) + "×"
	case Percentile:
		return percentile(v)
	}
	return tickNumber(v)
}

// percentile formats 1/(1-p): p50 for 2, p99.9 for 1000. It is p0 below 1, which is no percentile, and ends at thirteen nines.
func percentile(v float64) string {
	if !(v >= 1) {
		return "p0"
	}
	v = min(v, 1e13)
	p := 100 * (1 - 1/v)
	digits := max(0, int(math.Ceil(math.Log10(v)-1e-9))-2)
	return "p" + strconv.FormatFloat(p, 'f', digits, 64)
}

func tickNumber(v float64) string {
	switch {
	case v >= 999_999_999:
		return shortNumber(v/1e9) + "G"
	case v >= 999_999:
		return shortNumber(v/1e6) + "M"
	case v >= 9_999:
		return shortNumber(v/1e3) + "k"
	}
	return shortNumber(v)
}

func tickIn(v float64, units []unit) string {
	u := units[0]
	for _, next := range units[1:] {
		if v >= 0.999*next.size {
			u = next
		}
	}
	return shortNumber(v/u.size) + " " + u.name
}

// shortNumber has as few decimals as tell v from its neighbours: 10, 2.5 and 0.05, not 10.0.
func shortNumber(v float64) string {
	if math.Abs(math.Round(v)-v) <= roundness*v {
		return Thousands(int64(math.Round(v)))
	}
	for digits := 1; digits < 15; digits++ {
		if scale := math.Pow10(digits); math.Abs(math.Round(v*scale)/scale-v) <= roundness*v {
			return strconv.FormatFloat(v, 'f', digits, 64)
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// roundness is the relative distance within which a figure counts as round.
const roundness = 1e-6
