// Package judge holds the history of a run of another system against what that system promises. It has no I/O, no clock and no
// goroutine: a [History] goes in, and [Judge] returns a [Verdict].
//
// # Rules
//
// docs/adapter.md defines the promises, and [Rules] are its violations, one by one. A promise that is not made is not judged;
// what happened is counted in any case. A verdict is Breaks if some rule was violated; else Inconclusive, if something could
// not be judged, with the reasons; else Keeps.
//
// # What nobody knows
//
// No rule is violated by what a right system may do while its processes are killed or paused and its connections cut:
//
//   - The lines of two processes have no order between them. Only their values order them: a task that was given a value began
//     after the execution that gave it. So the rules about values ask whether an execution ever gave a value, not when its line
//     came. A process that was killed may still have lines in its pipe, which come after its death.
//   - A process writes that a task finished before it tells the system. So a value in the system has its line, whatever process died.
//   - A batch that was not answered may be in the store or not.
//   - An end may lack its report, because the process that knew of it died. What the store says at the end decides. An answer
//     of the store is compared only with what came before its question.
//   - A worker that was paused may execute a task long after its instance has ended. That is counted. A second instance of one
//     id is therefore seen by its values only: two values of a task counted, or the end changed, and the second was computed
//     from the first task on after the id was submitted again.
//   - A task may have been handed out, and counted as an attempt, to a process that died before it wrote a line. So too few
//     attempts are no violation after a fault, unless the system promises that it never gives up. A machine that stalls for the
//     time of a lease does the same: the writer of a history notes that as a fault.
//   - Times are figures. Only work that never continues is a matter of time: an entry [Waited] states for how long nothing at
//     all happened, while processes ran and no fault lasted.
package judge
