// Package journal simulates the tables and statements of the design journal.
//
// The design's code is the real one, on a host of its own. It does not note its plans: the model plans by itself and is compared
// with what a shard's owner keeps in memory.
package journal
