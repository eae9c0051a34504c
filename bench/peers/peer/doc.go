// Package peer is what every system in the race implements, and what each of them runs.
//
// An [Adapter] says how one system is set up and opened; a [System] is one that is open. Its tasks call
// the methods of [Work], which do next to nothing, count that they ran, and give values from which the
// result of an instance shows whether every task ran, and in order. An adapter decides nothing about
// load: the race tells it how many instances to begin, and hears from it of each end.
//
// To add a rival, write one file in package adapters that registers an Adapter.
package peer
