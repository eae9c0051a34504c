// Package live shows how far a run is: as a line of a terminal that changes, as lines of a log, and in a file that others follow.
//
// A [Run] takes what happens at any rate, from any goroutine, and shows it at a bounded one. A [Screen] keeps the changing line
// below all other output, and off the terminal while something else is written. No text reaches a terminal with characters that
// could move its cursor, change its colours or hide what follows: see [Clean].
package live
