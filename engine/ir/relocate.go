package ir

import "reflect"

// Relocate replaces every position in a program that was translated from another text: errors of compiling and running it then
// name the original's positions. The zero Pos stays.
func Relocate(p *Program, place func(Pos) Pos) {
	relocate(reflect.ValueOf(p), place)
}

func relocate(v reflect.Value, place func(Pos) Pos) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			relocate(v.Elem(), place)
		}
	case reflect.Slice:
		for i := range v.Len() {
			relocate(v.Index(i), place)
		}
	case reflect.Struct:
		if at, is := v.Interface().(Pos); is {
			if at != (Pos{}) {
				v.Set(reflect.ValueOf(place(at)))
			}
			return
		}
		for i := range v.NumField() {
			relocate(v.Field(i), place)
		}
	}
}
