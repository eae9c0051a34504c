// Package world is what designs are simulated in: one goroutine, one generator, virtual time, one calendar.
//
// In it are engines, each a real dispatch.Machine with a design as its client; the server of package db, which crashes, fills up, and
// has a clock that jumps; a network between them, whose messages take time, overtake each other on different connections, and are
// lost with theirs; and clients that submit and cancel. What happens is written in a cases.Case, faults included; the seed decides
// only what nobody would write down.
//
// The real code of a design stands on a [Host]. Its calls, and what it does beside them, are threads: coroutines of which one runs at
// a time, and only when the world has it run. Whatever waits, waits in a call of its host.
//
// A world knows neither its design nor what is right: it is given a [Store], which opens the design, and a [Judge], which is told of
// each commit and of each answer. What was applied it counts, mixes into a hash, and, for people, keeps as a [Trace].
package world
