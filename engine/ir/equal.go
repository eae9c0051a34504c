package ir

import "slices"

// Equal reports whether two programs have the same Print. Positions and file names do not count, nor does the difference between
// an empty and a nil slice.
func Equal(a, b *Program) bool {
	return slices.EqualFunc(a.Functions, b.Functions, func(a, b *Function) bool {
		return sameName(a.Name, b.Name) && sameNames(a.Inputs, b.Inputs) && sameNames(a.Outputs, b.Outputs) &&
			sameBody(a.Body, b.Body)
	})
}

func sameName(a, b Name) bool { return a.Text == b.Text }

func sameNames(a, b []Name) bool { return slices.EqualFunc(a, b, sameName) }

func sameExpr(a, b *Expr) bool { return a.Text == b.Text }

func sameBody(a, b []Stmt) bool { return slices.EqualFunc(a, b, sameStmt) }

func sameStmt(a, b Stmt) bool {
	switch a := a.(type) {
	case *Assign:
		b, ok := b.(*Assign)
		return ok && sameNames(a.Targets, b.Targets) && sameRHS(a.Value, b.Value)
	case *For:
		b, ok := b.(*For)
		return ok && sameNames(a.Targets, b.Targets) && sameExpr(a.Over, b.Over) && sameBody(a.Body, b.Body)
	case *While:
		b, ok := b.(*While)
		return ok && sameExpr(a.Cond, b.Cond) && sameBody(a.Body, b.Body)
	case *If:
		b, ok := b.(*If)
		return ok && slices.EqualFunc(a.Arms, b.Arms, sameArm) && sameBody(a.Else, b.Else)
	case *Try:
		b, ok := b.(*Try)
		return ok && sameBody(a.Body, b.Body) && slices.EqualFunc(a.Handlers, b.Handlers, sameHandler)
	case *Return:
		b, ok := b.(*Return)
		return ok && slices.EqualFunc(a.Values, b.Values, sameExpr)
	case *Break:
		_, ok := b.(*Break)
		return ok
	case *Continue:
		_, ok := b.(*Continue)
		return ok
	case *Pass:
		_, ok := b.(*Pass)
		return ok
	case *Sleep:
		b, ok := b.(*Sleep)
		return ok && sameExpr(a.Seconds, b.Seconds)
	}
	return false
}

func sameArm(a, b Arm) bool { return sameExpr(a.Cond, b.Cond) && sameBody(a.Body, b.Body) }

func sameHandler(a, b Handler) bool {
	if (a.As == nil) != (b.As == nil) || a.As != nil && !sameName(*a.As, *b.As) {
		return false
	}
	return sameNames(a.Types, b.Types) && sameBody(a.Body, b.Body)
}

func sameRHS(a, b RHS) bool {
	switch a := a.(type) {
	case *Expr:
		b, ok := b.(*Expr)
		return ok && sameExpr(a, b)
	case *Action:
		b, ok := b.(*Action)
		return ok && a.Name == b.Name && slices.EqualFunc(a.Args, b.Args, sameArg) &&
			slices.EqualFunc(a.Retries, b.Retries, sameRetry) && a.Timeout == b.Timeout
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Name == b.Name && slices.EqualFunc(a.Args, b.Args, sameArg)
	case *Spread:
		b, ok := b.(*Spread)
		return ok && sameExpr(a.Over, b.Over) && sameName(a.Item, b.Item) && a.Limit == b.Limit && sameRHS(a.Do, b.Do)
	case *Parallel:
		b, ok := b.(*Parallel)
		return ok && slices.EqualFunc(a.Do, b.Do, func(a, b Invocation) bool { return sameRHS(a, b) })
	}
	return false
}

func sameArg(a, b Arg) bool { return sameName(a.Name, b.Name) && sameExpr(a.Value, b.Value) }

func sameRetry(a, b Retry) bool {
	return sameNames(a.Types, b.Types) && a.Count == b.Count && a.Backoff == b.Backoff
}
