package reference

import (
	"encoding/json"
	"fmt"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// OnJSON adapts calls as an engine makes them: arguments are a JSON object in the order of the text, and a result is JSON,
// within the limits. A call's error needs a Type and a Message. An invalid argument or result is an error of TypeResult.
func OnJSON(limits ir.Limits, call func(action string, args json.RawMessage, attempt int) (json.RawMessage, *Error)) Action {
	return func(name string, args Args, attempt int) (expr.Value, *Error) {
		object := []byte{'{'}
		for i, a := range args {
			value, err := expr.Encode(a.Value)
			if err != nil {
				return nil, &Error{Type: TypeResult, Message: err.Error()}
			}
			if i > 0 {
				object = append(object, ',')
			}
			object = append(fmt.Appendf(object, "%q:", a.Name), value...)
		}
		result, failed := call(name, append(object, '}'), attempt)
		if failed != nil {
			return nil, failed
		}
		value, err := expr.Decode(result, limits)
		if err != nil {
			return nil, &Error{Type: TypeResult, Message: err.Error()}
		}
		return value, nil
	}
}
