package expr

import "go.starlark.net/starlark"

// Keys of an error as a value.
const (
	errorType    = "type"
	errorMessage = "message"
	errorAction  = "action"
)

// NewError returns the dict that an except clause binds and isexception recognises: {"type": …, "message": …, "action": …}. An
// empty action becomes None. Text that is not UTF-8 is repaired.
func NewError(typ, message, action string) Value {
	d := starlark.NewDict(3)
	set := func(key string, v starlark.Value) {
		if err := d.SetKey(starlark.String(key), v); err != nil {
			panic(err) // a new dict takes every string
		}
	}
	set(errorType, validString(typ))
	set(errorMessage, validString(message))
	set(errorAction, starlark.None)
	if action != "" {
		set(errorAction, validString(action))
	}
	d.Freeze()
	return d
}

// isException takes "Exception" as every type.
func isException(v starlark.Value, typ string) bool {
	d, ok := v.(*starlark.Dict)
	if !ok || d.Len() != 3 {
		return false
	}
	get := func(key string) starlark.Value {
		v, _, _ := d.Get(starlark.String(key)) // a string can always be looked up
		return v
	}
	have, isText := get(errorType).(starlark.String)
	_, hasMessage := get(errorMessage).(starlark.String)
	action := get(errorAction)
	_, hasAction := action.(starlark.String)
	if !isText || !hasMessage || !hasAction && action != starlark.None {
		return false
	}
	return typ == "Exception" || typ == string(have)
}
