// Package reference interprets a workflow directly, as the definition of what its result should be.
//
// The result of a workflow is that of running its text line by line. [Interpret] does just that: it walks the syntax
// tree, calls actions one after the other, and shares nothing with the engine but the parser and the expressions. It
// knows no graph, no readiness, no store and no time.
//
// Where the text leaves room, the interpreter decides:
//
//   - An action's error can be caught. An expression that fails, a name without a value, a list that does not unpack,
//     and whatever is over a limit cannot: they fail the instance where they stand.
//   - The error of a failed attempt chooses the retry policy: the first policy that names its type says how many
//     attempts after the first there may be in all. The interpreter does not wait between them.
//   - The element's name of a spread is known in the arguments of its call only.
//   - Every branch of a spread or parallel runs, also after one has failed, since an engine has started them together.
//     Where several fail, the error of the first branch surfaces. An engine may surface any of them:
//     [Interpreter.Possible] gives all outcomes that are right. An engine need not have made the calls of the branches
//     beside a failed one: they are marked [Call.Optional].
//   - [ir.Limits].InlineSteps, Nodes and SourceBytes do not bind the interpreter: they bound how an engine and the
//     parser work, not what a program means.
//
// A run of an engine is held against the reference by the result and the error ([Outcome.Differs]), and by the calls:
// each node run's action, path and arguments, counted as a multiset.
package reference
