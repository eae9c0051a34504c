// Package adapter lets an author in Go write an adapter: a program through which pulley drives a queue or a workflow engine that it
// did not write. docs/adapter.md defines the protocol that they speak; this package speaks it.
//
// An author implements [System] and calls [Main]. The system gives its tasks to [Reporter.Execute], which does everything of a
// task, and says with [Reporter.Ended] which instances have ended. A system whose settings may be wrong, or whose promises depend on
// them, is a [Configurer] too. [Serve] is Main for tests, without a process.
//
// The package imports the standard library and the messages of the protocol, so an adapter links no more of pulley.
package adapter
