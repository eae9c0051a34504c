// Package plural formats numbers of things.
package plural

import "fmt"

// Of returns "1 run" or "3 runs"; more is an irregular plural.
func Of[N int | int64](n N, one string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(more) > 0:
		return fmt.Sprintf("%d %s", n, more[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}
