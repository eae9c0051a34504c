// Package pressure puts a store under production's additional burdens: a transaction held open, reading sessions, a pool of few
// connections, a network, and waiting instances.
//
// Start applies the pressure before a run. Stop ends it after the run and reports whether it was there all the time: otherwise
// a figure means nothing.
package pressure
