// Package inspect says what an instance waits for. It decides from a snapshot of the store alone, without a clock and without I/O.
package inspect
