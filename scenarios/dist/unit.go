package dist

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pulley/internal/bytesize"
)

// Unit is what a law counts.
type Unit int

// The units.
const (
	Durations Unit = iota // nanoseconds, written as 10ms or 1.5s
	Bytes                 // written as 512B, 4kB or 1.5MiB
	Counts                // written as 10
)

// String names the unit.
func (u Unit) String() string {
	return [...]string{"durations", "bytes", "numbers"}[u]
}

func (u Unit) span() string {
	return [...]string{"1ms..9ms", "1kB..100kB", "1..9"}[u]
}

const countsMax = 1_000_000_000_000_000 // floats represent every whole number up to it

func (u Unit) parse(text string) (int64, error) {
	text = strings.TrimSpace(text)
	switch u {
	case Durations:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > Longest {
			return 0, fmt.Errorf("%q is no duration; write one like 10ms or 1.5s, not negative, at most a hundred years", text)
		}
		return int64(d), nil
	case Bytes:
		return bytesize.Parse(text)
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || v < 0 || v > countsMax {
		return 0, fmt.Errorf("%q is no number; write a whole one like 10, not negative, at most %d", text, countsMax)
	}
	return v, nil
}

func (u Unit) format(v int64) string {
	switch u {
	case Durations:
		return time.Duration(v).String()
	case Bytes:
		return strconv.FormatInt(v, 10) + "B"
	}
	return strconv.FormatInt(v, 10)
}
