// Package dist holds the distributions that scenarios and simulations draw from: how long actions take, how large
// payloads are, how many elements a list has.
//
// A [Law] is a distribution that is written as text; [Help] lists what can be written. It draws whole numbers of its
// [Unit]: nanoseconds, bytes, or things that are counted. The package has no randomness of its own: whoever draws
// gives the generator, and [Key] makes one that depends on nothing but what the drawn number is for.
package dist
