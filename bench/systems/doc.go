// Package systems measures systems behind adapters (docs/adapter.md) under the loads under which package bench measures pulley's
// own designs.
//
// A [Fleet] is the processes of one system on a store of its own: an empty database and a folder. The first process makes what
// the system needs, and ends; then all start. [Fleet.RunClosed] keeps a number of instances in flight until so many have ended.
//
// # What is checked
//
// Every instance must complete, with the sum that its graph of tasks gives: a task whose value the system lost, doubled or mixed
// up changes it. With an instance alone, tasks are reported as well, and each must have been executed. In other runs processes report
// the ends of instances only, which costs least; what a system did with a task more than once is not seen there.
//
// # What is counted
//
// Times are this program's: an instance's from before its submission is written to the arrival of its end; a hop's from the
// arrival of the last finished need to that of the task's start. Both have the two ways through a pipe in them, some tens of
// microseconds.
//
// The server's counters are read when no process has a session. What processes cost that start and stop without any work, as
// [Fleet.Idle] measures it, is subtracted.
package systems
