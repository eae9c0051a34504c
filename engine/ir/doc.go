// Package ir reads and prints the workflow language.
//
// A program is a text of functions, of which main is run. It looks like Python: blocks indented by four spaces, no tabs, # for
// comments, lines that continue inside brackets, strings in ' or " with Python's escapes.
//
//	program  := fn+
//	fn       := "fn" NAME "(" "input" ":" "[" names? "]" "," "output" ":" "[" names? "]" ")" ":" block
//	block    := INDENT stmt+ DEDENT
//	stmt     := (names "=")? rhs | for | while | if | try
//	          | "return" (expr ("," expr)*)? | "break" | "continue" | "pass" | "sleep" expr
//	rhs      := action | spread | parallel | call | expr
//	action   := "@" dotted "(" kwargs? ")" policy*
//	call     := NAME "(" kwargs? ")"
//	kwargs   := NAME "=" expr ("," NAME "=" expr)* ","?
//	spread   := "spread" expr ":" NAME ("limit" INT)? "->" (action | call)
//	parallel := "parallel" ":" INDENT (action | call)+ DEDENT
//	policy   := "[" (names "->")? "retry" ":" INT ("," "backoff" ":" duration)? "]"
//	          | "[" "timeout" ":" duration "]"
//	duration := INT ("ms" | "s" | "m" | "h")?
//	for      := "for" NAME ("," NAME)? "in" expr ":" block
//	while    := "while" expr ":" block
//	if       := "if" expr ":" block ("elif" expr ":" block)* ("else" ":" block)?
//	try      := "try" ":" block ("except" names? ("as" NAME)? ":" block)+
//	names    := NAME ("," NAME)*
//
// # Expressions
//
// Expressions are Starlark's without what JSON values cannot use: no tuples, lambdas, attributes, bitwise operators, chained
// comparisons, unary plus or starred arguments. The methods are those of strings and dicts that change nothing. A name before a
// bracket is a built-in function, and so is the name after key= in sorted, min and max; anywhere else a name is a variable, so a
// variable may be called max or list and max(xs) still works. The package keeps an expression's canonical text (see Expr); it
// evaluates nothing.
//
// # Names
//
// A word is reserved only where it is read. The words of blocks and operators, and the rest of what Starlark reserves, cannot be
// variables, inputs or functions; they can be names of actions, of their arguments and of error types. Words such as sleep,
// spread, parallel, input, retry or limit are ordinary names too: a line that begins with sleep and has no = after it is the
// statement, and spread begins a spread if an operand or, in its line, an arrow follows.
//
// # What callers may rely on
//
// Parse checks everything that is visible without running the program; its comment lists what a user of a Program need not check
// again. A mistake is an *Error: one line with the position, what is wrong and what to write. Parse takes time linear in the
// input and never panics. Limits bounds the source, the nesting of blocks, expressions and calls, and, for later packages, what
// the running program may use. Moreover, a number has at most 4,096 digits and the tree of an expression is at most 4,000
// operators deep.
//
// Print is the inverse of Parse up to layout. A Program is plain data: nothing changes it after Parse, and it may be shared.
package ir
