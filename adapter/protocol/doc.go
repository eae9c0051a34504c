// Package protocol has the messages of the adapter protocol, version 1, which docs/adapter.md defines.
//
// Both sides use it: package adapter, with which adapters are written in Go, and package host, which drives adapters. A message is
// a struct of its direction with a Kind; fields that a kind does not have are empty. Append writes a message's line. Package
// engine/worker/protocol's reader splits lines; Parse reads one.
package protocol
