// Package world simulates a cluster for designs: one goroutine, one random generator, virtual time, one calendar.
//
// A world has engines, each a real dispatch.Machine whose client is a design; the server of package db, which can crash, fill up
// and have its clock jump; a network, whose messages take time, overtake each other and are lost with their connection; and
// clients. A cases.Case describes it all, including the faults. The seed decides only what a case does not.
//
// A design's real code runs on a [Host]. Its calls and its background work are threads: coroutines that run one at a time and
// wait only in calls of the host.
//
// A world knows neither its design nor what is right. [World.Attach] gives it a [Store], which opens the design, and a judge,
// which receives each commit and each answer. The world counts its steps, hashes them and can keep them as a [Trace] for people.
package world
