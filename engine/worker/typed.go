package worker

import (
	"context"
	"fmt"
	"reflect"
)

// Register adds an action with types: a function that takes its arguments as a struct, by the rules of [Call.Bind], and whose
// result becomes JSON by its type. An *[Error] keeps its type; the package doc describes others. Inside the function, [CallOf]
// returns the attempt.
//
// It fails if A is no struct, if two of its fields have one name, and wherever [Registry.Add] fails.
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
		action.Args = append([]string{}, fields.all...) // not nil, even if empty
	}
	return reg.Add(action)
}

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

type callKey struct{}

// CallOf returns the attempt from the context of a function that was added by [Register]; false elsewhere. [Call.Key] guards
// the function's effects against a second delivery.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}
