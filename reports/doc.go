// Package reports shows what a run found: as one HTML page, as a table for a terminal, and as single charts.
//
// It only reads records, and makes the same bytes of the same records: no clock, no network, no file but the given writer. The
// HTML page is self-contained and opens offline. It works without its script, on a narrow screen, on light and on dark.
//
// Three rules decide what is shown:
//
//   - No number without its method. Every figure on the page has a sentence with its method, its number of runs and
//     their spread.
//   - An invalid row decides nothing. It is in the table, marked, but not in charts, ratios and the verdict.
//   - What is missing is visible. A null is a dash with its reason among the warnings, never a zero.
//
// Ratios are against the baseline: the first backend whose name begins with "push", else the first of all.
package reports
