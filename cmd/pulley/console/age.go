package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Age is a time in a flag that may be long: days as in 30d, or what time.ParseDuration reads.
type Age time.Duration

const day = 24 * time.Hour

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Age) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || math.IsNaN(n) || math.Abs(n) > float64(math.MaxInt64/int64(day)) {
			return fmt.Errorf("%q is no time; write it as 30d or 720h", text)
		}
		*a = Age(n * float64(day))
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no time; write it as 30d or 720h", text)
	}
	*a = Age(d)
	return nil
}

// Duration returns the time.
func (a Age) Duration() time.Duration { return time.Duration(a) }

// String returns whole days as in 30d, and other times as time.Duration does.
func (a Age) String() string {
	if d := time.Duration(a); d != 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return time.Duration(a).String()
}
