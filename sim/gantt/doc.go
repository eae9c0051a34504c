// Package gantt draws the schedule of a simulated run as SVG or PNG: what each worker did and when, and below it how many
// attempts ran and waited. If there are too many workers or attempts, colour shows how busy groups of workers were.
package gantt
