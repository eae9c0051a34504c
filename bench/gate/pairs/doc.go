// Package pairs runs two programs in turn, so that a slowdown of the machine longer than a turn affects both.
//
// A pair is a turn of each side. A seeded coin decides which side begins: a fixed order could favour one side under recurring
// load. Programs are built from two revisions of a git repository, each checked out apart from the user's own tree, which stays
// unchanged.
package pairs
