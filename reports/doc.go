// Package reports shows what a run found: as one HTML page, as a table for a terminal, and as single charts.
//
// It reads records and nothing else. It runs nothing, measures nothing, looks up nothing, and gives the same bytes for
// the same records: no clock, no network, no file but the writer that it is handed. The HTML page holds all it needs
// and opens offline; it works without its script, on a narrow screen, on light and on dark.
//
// Three rules decide what is shown:
//
//   - No number without its method. Every figure on the page has a sentence that says how it was measured, how many runs
//     stand behind it, and how far they were apart.
//   - An invalid row decides nothing. It stands in the table, marked, and is left out of charts, ratios and the verdict.
//   - What is missing is seen to be missing. A null is a dash with its reason among the warnings, never a zero.
//
// Ratios are against the baseline: the first backend whose name begins with "push", else the first of all.
package reports
