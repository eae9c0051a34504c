// Package behaviour makes the actions of scenarios: the built-in ones of package worker, the tasks of traces, steps, and those
// that a scenario describes.
//
// A description says how long an attempt takes, how often it fails, what it gives, and how large that is. What is
// random in it is drawn so that runs can be compared and results checked:
//
//   - How long an attempt takes depends on the seed, the instance, the node run and the attempt.
//   - Whether an attempt fails depends on the seed, the action, its arguments and the attempt. So the reference interpreter, which
//     calls the same actions, knows how an instance must end, and a retry draws anew.
//   - What an action gives, and how large it is, depends on the seed, the action and its arguments only.
//
// Every set of actions comes twice: [Actions.Timed] takes its time, as engines run it; [Actions.Instant] gives the same
// results at once, for the reference interpreter and for worlds in virtual time.
package behaviour
