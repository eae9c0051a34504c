package engine_test

import (
	"reflect"
	"slices"
	"testing"

	"pulley/engine"
)

// Every function of an observer is called, first that of the first; one that only one of them has stays.
func TestObserversOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var called []string
	noting := func(who string, skip int) (o engine.Observer) {
		v := reflect.ValueOf(&o).Elem()
		for i := range v.NumField() {
			if i%3 != skip {
				v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
					called = append(called, who)
					return nil
				}))
			}
		}
		return o
	}
	joined := reflect.ValueOf(noting("first", 0).Then(noting("second", 1)))
	for i := range joined.NumField() {
		called = nil
		f, name := joined.Field(i), joined.Type().Field(i).Name
		arguments := make([]reflect.Value, f.Type().NumIn())
		for k := range arguments {
			arguments[k] = reflect.Zero(f.Type().In(k))
		}
		f.Call(arguments)
		if want := [][]string{{"second"}, {"first"}, {"first", "second"}}[i%3]; !slices.Equal(called, want) {
			t.Errorf("%s calls %v, want %v", name, called, want)
		}
	}
	if neither := reflect.ValueOf(engine.Observer{}.Then(engine.Observer{})); !neither.IsZero() {
		t.Error("two observers without functions have some together")
	}
}
