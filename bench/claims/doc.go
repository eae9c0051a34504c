// Package claims holds what others published about these designs, and what this project wants of its own, against
// measurements.
//
// A claim is a sentence with a figure in it. An experiment is a run, or several, that measures the figures of one
// claim or of some that belong together. Each figure is a median over repeated runs with its order-statistic interval
// (package stats), and is judged by that interval alone:
//
//   - it holds if the whole interval is on the claimed side,
//   - it does not hold if the whole interval is on the other,
//   - and otherwise it is open: more runs would tell.
//
// A claim holds if all of its figures do, and does not if none does. Where they differ, it depends: on what is
// counted, or on what it is claimed of. A figure whose runs were not valid is not measured, and decides nothing.
//
// Only ratios, counts and slopes are held against our own goals: they move little with the machine. Where a published
// figure is absolute, the measured one is this machine's.
package claims
