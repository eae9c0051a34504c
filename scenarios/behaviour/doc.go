// Package behaviour makes the actions of scenarios: the built-in ones of package worker, the tasks of traces, steps, and those
// that a scenario describes.
//
// A description states an attempt's duration, its probability of failure, its result and its size. Draws allow runs to be
// compared and results checked:
//
//   - An attempt's duration depends on the seed, the instance, the node run and the attempt.
//   - An attempt's failure depends on the seed, the action, its arguments and the attempt. So the reference interpreter, which
//     calls the same actions, knows how an instance must end, and a retry draws anew.
//   - A result and its size depend on the seed, the action and its arguments only.
//
// Every set of actions has two forms: [Actions.Timed] takes its time, as engines run it; [Actions.Instant] returns the same
// results at once, for the reference interpreter and for virtual time.
package behaviour
