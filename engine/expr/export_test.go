package expr

// EvalByStarlark evaluates the expression without its closure.
func (c *Compiled) EvalByStarlark(args []Value) (Value, error) {
	plain := *c
	plain.closure = nil
	return plain.Eval(args)
}

// EvalByClosure evaluates the expression by its closure, if that is certain of the result.
func (c *Compiled) EvalByClosure(args []Value) (v Value, ok bool) {
	if c.closure == nil {
		return nil, false
	}
	return c.closure(args)
}
