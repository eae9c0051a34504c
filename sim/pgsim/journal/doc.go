// Package journal has the tables and the statements of package journal of the engine, simulated.
//
// The design is the real one, on a host of its own. It does not say what it has planned: the model plans by itself, and what the
// owner of a shard remembers of an instance is held against it.
package journal
