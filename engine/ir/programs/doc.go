// Package programs makes random valid programs of the whole language, for tests that compare an engine with the reference
// interpreter.
//
// A [Program] is drawn as a syntax tree, statement by statement, from generators that rapid can shrink: every statement of a
// block can be left out, and every choice becomes the simplest when its draw becomes zero. So a planted bug shrinks to the few
// lines that it needs. Only the tree's print leaves this package.
//
// The generator knows which names have a value on every path, and of what kind, so most programs complete. One in five is wild:
// names may lack a value, expressions may fail, limits may be exceeded and errors may be uncaught. Loops end, since each goes
// over few elements or counts its rounds. A budget of action calls bounds a program's cost.
//
// [Python] prints a program as an equivalent workflow in Python, so that CPython computes the result independently.
// Options.Python makes only programs for which that is possible.
//
// [Census] counts a program's constructs, so that a test can show that nothing of the language is missing.
package programs
