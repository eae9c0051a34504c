// Package peer is what every system in the race implements and runs.
//
// An [Adapter] sets up and opens a system; a [System] is an open one. Its tasks call the methods of [Work], which do next to
// nothing, count their calls, and return values from which an instance's result shows whether every task ran, and in order. The
// race controls the load: it starts instances through the adapter, which reports each end.
//
// To add a system, write one file in package adapters that registers an Adapter.
package peer
