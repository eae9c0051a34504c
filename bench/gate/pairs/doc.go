// Package pairs runs two programs in turn, so that whatever slows the machine for longer than a turn falls on both.
//
// A pair is a turn of each side. A coin that is drawn from a seed decides which side begins, since a fixed order would let whatever
// recurs on the machine favour one side. Programs are built from two revisions of a git repository, each checked out beside the
// user's own tree, which stays as it is.
package pairs
