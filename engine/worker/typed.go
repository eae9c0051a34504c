package worker

import (
	"context"
	"fmt"
	"reflect"
)

// Register adds an action with types: a function that takes its arguments as a struct, by the rules of [Call.Bind], and
// whose result becomes JSON by its type. An error that is an *[Error] has its type; see the package's doc for others. Inside
// the function, [CallOf] tells what attempt it is.
//
// It is an error if A is no struct, if two of its fields have one name, and wherever [Registry.Add] fails.
func Register[A, R any](reg *Registry, name string, fn func(ctx context.Context, args A) (R, error)) error {
	fields, err := fieldsOf(new(A))
	if err != nil {
		return fmt.Errorf("worker: action %s: its arguments must be a struct, whose fields are their names, not a %s", name, reflect.TypeFor[A]())
	}
	if twice := firstTwice(fields.all); twice != "" {
		return fmt.Errorf("worker: action %s: two fields of %s are the argument %s; give one another name in its json tag", name, reflect.TypeFor[A](), twice)
	}
	if fn == nil {
		return fmt.Errorf("worker: action %s has no function", name)
	}
	action := Action{Name: name, Run: func(ctx context.Context, call Call) (any, error) {
		var args A
		if err := call.Bind(&args); err != nil {
			return nil, err
		}
		return fn(context.WithValue(ctx, callKey{}, call), args)
	}}
	if len(fields.required) == len(fields.all) {
		action.Args = append([]string{}, fields.all...) // not nil, also where there are none
	}
	return reg.Add(action)
}

// firstTwice gives a name that stands twice in a list; empty if none does.
func firstTwice(names []string) string {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}

// callKey is the key of the attempt in a context.
type callKey struct{}

// CallOf gives the attempt that a function runs which was added by [Register], from the function's context. It is false
// elsewhere. [Call.Key] guards what the function does to the world against a second delivery.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}
