// Package expr holds the values of workflows and evaluates their expressions.
//
// # Values
//
// A [Value] is a JSON value: None, a bool, an int of any size, a finite float, a string of valid
// UTF-8, a list, or a dict whose keys are strings. It is frozen, so goroutines may share it, and a
// part of it may be kept without copying. Ints and floats stay what they are through [Encode] and
// [Decode]: 1 is an int, 1.0 and 1e2 are floats. A dict keeps the order in which its keys came.
// [Decode], [Normalize] and [FromGo] are the gates: what passed one of them is trusted afterwards.
//
// # Expressions
//
// [Compile] parses the text of an expression with go.starlark.net, checks that it uses only what the
// language has, and compiles it into a function of its free names. [Compiled.Eval] calls that
// function. The same arguments always give the same result: there is no clock, no randomness, no
// input or output, and dicts are ordered.
//
// The language is Starlark's with these differences, all of which follow from values being JSON:
//
//   - There are no tuples, and a range is its list at once: enumerate, zip and items give lists of
//     lists, and "%s is %s" % [a, b] takes its arguments from a list.
//   - The keys of a dict are strings. Nothing can be changed in place: the methods that would are
//     refused when the expression is compiled, and lists have no methods at all.
//   - A float that is not finite is an error where it arises.
//   - Lambdas, tuples, sets, bytes, bit operators, star arguments, and functions other than [Builtins] are
//     refused when the expression is compiled.
//
// The name of a built-in function means the function where it is called, and where it is the value
// of key= in sorted, min and max. Anywhere else it is a variable: since no value can be called, a
// workflow may have a variable named sum, and still call sum.
//
// # Limits
//
// An evaluation has a budget of steps ([ir.Limits].ExpressionSteps). Every instruction of the
// interpreter takes one. Work inside an instruction is charged too, before it is done: a step for
// each 64 bytes that are read, copied or allocated, an element of a list counting 16 bytes. No single
// string may be longer, and no list have more elements, than a value may have bytes
// ([ir.Limits].ValueBytes). So the time and the memory of an evaluation are bounded, whatever is
// written: the operators, functions and methods that could do unbounded work in one instruction are
// replaced, in the syntax tree, by calls of checked ones.
//
// # Closures
//
// Most expressions are of few shapes: arithmetic and comparisons of numbers, elements, slices, len, get, conditions. These are evaluated
// without the interpreter, as long as their operands are small and of the types that one expects. Anything else, and every error, is
// the interpreter's: it evaluates the expression from its beginning. What an evaluation gives, and whether it fails, is the same either
// way; where a workflow's limits are low, there are no closures.
package expr
