// Package dist holds the distributions that scenarios and simulations draw from: durations of actions, sizes of payloads,
// lengths of lists.
//
// A [Law] is a distribution written as text; [Help] lists the forms. It draws whole numbers of its [Unit]: nanoseconds, bytes,
// or counts. The package has no randomness of its own. The caller provides the generator; [Key] makes one that depends only on
// the purpose of the drawn number.
package dist
