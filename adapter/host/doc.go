// Package host drives adapters: programs through which pulley uses a queue or a workflow engine that it did not write.
//
// A [Host] starts the processes of one run, as often as the run has them, and ends them all, with whatever they started. A
// [Process] speaks the adapter protocol, which docs/adapter.md defines: hello, setup, open, then submit and look, then stop. Each
// call waits for its answer, within its context or a default.
//
// What a process reports goes to [Config.Observe], in the order of its lines. The host checks only what it needs in order to
// understand a process: messages that can be read, answers to batches that are open, reports of instances and tasks that exist.
// Anything else is a [Misbehaviour], which ends the process unless [Config.Misbehaved] decides otherwise. Package judge decides
// whether the reports are right.
package host
