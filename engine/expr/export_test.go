package expr

func (c *Compiled) EvalByStarlark(args []Value) (Value, error) {
	plain := *c
	plain.closure = nil
	return plain.Eval(args)
}

func (c *Compiled) EvalByClosure(args []Value) (v Value, ok bool) {
	if c.closure == nil {
		return nil, false
	}
	return c.closure(args)
}
