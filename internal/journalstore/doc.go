// Package journalstore is what the design journal stands on, and what it stores there. Postgres is behind it, or the simulator,
// which also sees through it what an append makes durable ([Appending]).
//
// It is a package of its own, so that the documentation of package journal shows what a program needs that embeds the engine.
package journalstore
