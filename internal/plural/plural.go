// Package plural writes numbers of things.
package plural

import "fmt"

// Of gives "1 run" or "3 runs"; where more is not one with an s, it is given.
func Of[N int | int64](n N, one string, more ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(more) > 0:
		return fmt.Sprintf("%d %s", n, more[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}
