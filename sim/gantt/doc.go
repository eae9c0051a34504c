// Package gantt draws the schedule of a simulated run, as SVG or PNG: which worker did what and when, and below it how
// many attempts ran and waited. Where there are too many workers or attempts to be told apart, colour says how busy a
// group of workers was.
package gantt
