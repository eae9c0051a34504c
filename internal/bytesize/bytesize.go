// Package bytesize parses numbers of bytes as people write them.
package bytesize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Most is the largest accepted number: 1024 GiB.
const Most = 1 << 40

var units = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
}

// Parse parses a number of bytes, such as 512, 512B, 4kB or 1.5MiB. It rounds fractions of bytes.
func Parse(text string) (int64, error) {
	text = strings.TrimSpace(text)
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v >= 0) || v*u.bytes > Most {
			break
		}
		return int64(math.Round(v * u.bytes)), nil
	}
	return 0, fmt.Errorf("%q is no size; write one like 512B, 4kB or 1.5MiB, not negative, at most 1024GiB", text)
}
