// Package reference interprets a workflow directly, and so defines its right result.
//
// The result of a workflow is that of running its text line by line. [Interpret] does just that: it walks the syntax tree,
// calls actions one after the other, and shares only the parser and the expressions with the engine. It has no graph,
// readiness, store or time.
//
// Where the text leaves a choice, the interpreter decides:
//
//   - An action's error can be caught. A failing expression, a name without a value, a list that does not unpack, and anything
//     over a limit cannot: they fail the instance at their position.
//   - The error of a failed attempt chooses the retry policy: the first policy that names its type bounds the attempts after the
//     first, in all. The interpreter does not wait between them.
//   - The element's name of a spread is known only in the arguments of its call.
//   - Every branch of a spread or parallel runs, also after one has failed, since an engine has started them together. If several
//     fail, the error of the first branch surfaces. An engine may surface any of them: [Interpreter.Possible] returns all right
//     outcomes. An engine need not have made the calls of a failed branch's siblings: they are marked [Call.Optional].
//   - [ir.Limits].InlineSteps, Nodes and SourceBytes do not bind the interpreter: they bound how an engine and the parser work,
//     not what a program means.
//
// A run of an engine is compared with the reference by the result and the error ([Outcome.Differs]), and by the calls: each
// node run's action, path and arguments, as a multiset.
package reference
