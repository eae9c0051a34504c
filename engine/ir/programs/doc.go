// Package programs makes valid programs of the whole language at random, for tests that hold an engine
// against the reference interpreter.
//
// A [Program] is drawn as a syntax tree, statement by statement, from generators that rapid can shrink:
// every statement of a block is an element that can be left out, and every choice becomes the simplest
// one when its draw becomes zero. A planted bug therefore shrinks to the few lines that it needs. The
// text of a program is the tree's print, and is all that leaves this package.
//
// The generator knows which names hold a value on every path, and of what kind, so that most programs
// complete. One in five is wild: there, names may lack a value, expressions may fail, limits may be
// exceeded and errors may go uncaught. Loops end, since each goes over few elements or counts its rounds,
// and what a program may cost is bounded by a budget of action calls.
//
// [Python] prints a program as a workflow in Python that means the same, so that CPython, which knows nothing of us, says what
// comes out. Options.Python makes only programs for which it can do so.
//
// [Census] counts what a program is made of, so that a test can show that nothing of the language is left
// out.
package programs
