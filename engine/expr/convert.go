package expr

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

func validString(s string) starlark.String {
	return starlark.String(strings.ToValidUTF8(s, "\uFFFD"))
}

// FromGo makes a Value of a Go value: nil, bools, ints, floats, strings, json.Number, *big.Int, Values,
// slices and maps of these, and whatever else encoding/json can write, as it writes it. The keys of
// a map come in sorted order. The size is not limited; Normalize limits it.
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
	case bool:
		return starlark.Bool(v), nil
	case int:
		return starlark.MakeInt(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case uint64:
		return starlark.MakeUint64(v), nil
	case *big.Int:
		if v == nil {
			return starlark.None, nil
		}
		return starlark.MakeBigInt(v), nil
	case float64:
		return normalize(starlark.Float(v), unlimited)
	case string:
		return normalize(starlark.String(v), unlimited)
	case json.Number:
		return Decode([]byte(v), ir.Limits{ValueBytes: unlimited})
	case starlark.Value:
		return normalize(v, unlimited)
	case []any:
		elems := make([]starlark.Value, len(v))
		for i, elem := range v {
			var err error
			if elems[i], err = fromGo(elem, depth+1); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(elems), nil
	case map[string]any:
		return fromGoMap(v, depth)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, valueErrorf("a Go %T cannot be a value: %v", v, err)
	}
	return decode(data, unlimited, depth)
}

func fromGoMap(m map[string]any, depth int) (Value, error) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	d := starlark.NewDict(len(m))
	for _, key := range keys {
		k, err := normalize(starlark.String(key), unlimited)
		if err != nil {
			return nil, err
		}
		elem, err := fromGo(m[key], depth+1)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(k, elem); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// ToGo makes a Go value of v that shares nothing with it: nil, bool, int64, json.Number for an int that
// does not fit an int64, float64, string, []any or map[string]any. The order of a dict's keys is lost.
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
		for key, elem := range v.Entries() {
			m[string(key.(starlark.String))] = ToGo(elem)
		}
		return m
	}
	return nil
}
