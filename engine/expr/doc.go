// Package expr holds the values of workflows and evaluates their expressions.
//
// # Values
//
// A [Value] is a JSON value: None, a bool, an int of any size, a finite float, a string of valid UTF-8, a list, or a dict with
// string keys. It is frozen, so goroutines may share it, and parts may be kept without copying. [Encode] and [Decode] keep ints
// and floats distinct: 1 is an int, 1.0 and 1e2 are floats. A dict keeps the order of its keys. [Decode], [Normalize] and
// [FromGo] check values; their results are trusted afterwards.
//
// # Expressions
//
// [Compile] parses the text of an expression with go.starlark.net, checks that it uses only the language, and compiles it into
// a function of its free names. [Compiled.Eval] calls that function. Equal arguments give equal results: there is no clock,
// randomness, input or output, and dicts are ordered.
//
// The language is Starlark's with these differences, which follow from values being JSON:
//
//   - There are no tuples, and a range is a list at once: enumerate, zip and items return lists of lists, and "%s is %s" % [a, b]
//     takes its arguments from a list.
//   - The keys of a dict are strings. Nothing can be changed in place: methods that would are refused at compile time, and lists
//     have no methods.
//   - A float that is not finite is an error where it arises.
//   - Lambdas, tuples, sets, bytes, bit operators, star arguments, and functions other than [Builtins] are refused at compile time.
//
// The name of a built-in function means the function where it is called, and as the value of key= in sorted, min and max.
// Anywhere else it is a variable: no value can be called, so a workflow may have a variable sum, and still call sum.
//
// # Limits
//
// An evaluation has a budget of steps ([ir.Limits].ExpressionSteps). Every instruction of the interpreter takes one. Work
// inside an instruction is charged before it is done: a step for each 64 bytes read, copied or allocated, with 16 bytes for an
// element of a list. No string may have more bytes, and no list more elements, than a value may have bytes
// ([ir.Limits].ValueBytes). So the time and memory of an evaluation are bounded. Checked operators, functions and methods
// replace those in the syntax tree that could do unbounded work in one instruction.
//
// # Closures
//
// Most expressions have few shapes: arithmetic and comparisons of numbers, elements, slices, len, get, conditions. Closures
// evaluate these without the interpreter if the operands are small and of the expected types. For anything else, and every
// error, the interpreter evaluates the whole expression. The result, or failure, is the same either way. With low limits there
// are no closures.
package expr
