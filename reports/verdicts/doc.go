// Package verdicts lays out pages on runs that are judged, or foretold, instead of measured: chaos, simulations, forecasts, nights and claims.
package verdicts

import "pulley/reports/units"

// brief keeps a name to a word of an answer.
func brief(name string) string { return units.Clip(units.Printable(name), 32) }
