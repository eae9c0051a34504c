package expr

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

func validString(s string) starlark.String {
	return starlark.String(strings.ToValidUTF8(s, "\uFFFD"))
}

// FromGo converts a Go value: nil, bools, ints, floats, strings, json.Number, *big.Int, Values, and pointers to, slices of and
// maps from strings to these. encoding/json converts anything else, such as structs; then a float without a fraction is an int.
// Keys of a map are sorted. The size is not limited; Normalize limits it. Errors are *EvalErrors.
func FromGo(v any) (Value, error) {
	converted, err := fromGo(v, 0)
	if err != nil {
		return nil, err
	}
	converted.Freeze()
	return converted, nil
}

func fromGo(v any, depth int) (Value, error) {
	if depth > depthMax {
		return nil, limitError("nesting of a value", depth, depthMax)
	}
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case starlark.Value:
		return normalizeAt(v, unlimited, depth)
	case string:
		return normalize(starlark.String(v), unlimited)
	case json.Number:
		return decode([]byte(v), unlimited, depth)
	case *big.Int:
		if v == nil {
			return starlark.None, nil
		}
		return starlark.MakeBigInt(v), nil
	case json.RawMessage:
		return decode(v, unlimited, depth)
	case []byte, json.Marshaler, encoding.TextMarshaler:
		return viaJSON(v, depth)
	case map[string]any:
		return fromGoMap(reflect.ValueOf(v), depth)
	}
	return fromKind(reflect.ValueOf(v), depth)
}

func fromKind(v reflect.Value, depth int) (Value, error) {
	switch v.Kind() {
	case reflect.Bool:
		return starlark.Bool(v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return starlark.MakeInt64(v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return starlark.MakeUint64(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return normalize(starlark.Float(v.Float()), unlimited)
	case reflect.String:
		return normalize(starlark.String(v.String()), unlimited)
	case reflect.Pointer:
		if v.IsNil() {
			return starlark.None, nil
		}
		return fromGo(v.Elem().Interface(), depth+1) // depth counts pointers, so that a cycle ends
	case reflect.Slice, reflect.Array:
		return fromGoList(v, depth)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			return fromGoMap(v, depth)
		}
	}
	return viaJSON(v.Interface(), depth)
}

func viaJSON(v any, depth int) (Value, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, valueErrorf("a Go %T cannot be a value: %v", v, err)
	}
	return decode(data, unlimited, depth)
}

func fromGoList(v reflect.Value, depth int) (Value, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return starlark.None, nil // as in encoding/json
	}
	elems := make([]starlark.Value, v.Len())
	for i := range elems {
		var err error
		if elems[i], err = fromGo(v.Index(i).Interface(), depth+1); err != nil {
			return nil, err
		}
	}
	return starlark.NewList(elems), nil
}

func fromGoMap(v reflect.Value, depth int) (Value, error) {
	if v.IsNil() {
		return starlark.None, nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	d := starlark.NewDict(len(keys))
	for _, key := range keys {
		k, err := normalize(starlark.String(key.String()), unlimited)
		if err != nil {
			return nil, err
		}
		elem, err := fromGo(v.MapIndex(key).Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(k, elem); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// ToGo converts v to a Go value that shares nothing with it: nil, bool, int64, json.Number for an int that does not fit an
// int64, float64, string, []any or map[string]any. The order of a dict's keys is lost.
func ToGo(v Value) any {
	switch v := v.(type) {
	case starlark.Bool:
		return bool(v)
	case starlark.Int:
		if small, ok := v.Int64(); ok {
			return small
		}
		return json.Number(v.String())
	case starlark.Float:
		return float64(v)
	case starlark.String:
		return string(v)
	case *starlark.List:
		elems := make([]any, v.Len())
		for i := range elems {
			elems[i] = ToGo(v.Index(i))
		}
		return elems
	case *starlark.Dict:
		m := make(map[string]any, v.Len())
		for _, item := range v.Items() {
			m[string(item[0].(starlark.String))] = ToGo(item[1])
		}
		return m
	}
	return nil
}
