// Package check shows the author of an adapter its violations of the adapter protocol, which docs/adapter.md defines.
//
// [Run] starts the adapter's processes on empty stores and does what runs do: it creates, submits, looks, submits again, kills a
// process at work, cuts connections, and stops processes with and without a word. It asks for the shapes that the adapter
// declares only, and holds the system to its promises only. What it left out is in the report, with the reason: a failure that
// later checks would only report again keeps them from running.
//
// It measures nothing: every bound of time is generous, and a slow system has no findings.
package check
