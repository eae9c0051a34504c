package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Where nothing is to be added, Starlark's own works after a charge.
var functions = map[string]builtinFunc{
	"range":       rangeList,
	"len":         universal("len", chargeNothing),
	"enumerate":   enumerate,
	"zip":         zip,
	"min":         extreme,
	"max":         extreme,
	"sorted":      sorted,
	"reversed":    universal("reversed", chargeList),
	"any":         universal("any", chargeScan),
	"all":         universal("all", chargeScan),
	"str":         str,
	"int":         universal("int", chargeParse),
	"float":       universal("float", chargeParse),
	"bool":        universal("bool", chargeNothing),
	"list":        universal("list", chargeList),
	"dict":        dict,
	"sum":         sum,
	"isexception": isexception,
}

var builtinNames = slices.Sorted(maps.Keys(functions))

// Builtins returns the names of the built-in functions, sorted. The caller owns the slice.
func Builtins() []string { return slices.Clone(builtinNames) }

func takesKey(callee string) bool {
	return callee == "sorted()" || callee == "min()" || callee == "max()"
}

func universal(name string, charge func(m *meter, args starlark.Tuple) error) builtinFunc {
	fn := starlark.Universe[name].(*starlark.Builtin)
	return func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := charge(meterOf(thread), args); err != nil {
			return nil, err
		}
		return finite(fn.CallInternal(thread, args, kwargs))
	}
}

func chargeNothing(*meter, starlark.Tuple) error { return nil }

func chargeList(m *meter, args starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	return m.list(max(0, starlark.Len(args[0])))
}

func chargeScan(m *meter, args starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	return m.work(compareUnits * max(0, starlark.Len(args[0])))
}

// Of text, the time is quadratic in the length.
func chargeParse(m *meter, args starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	switch x := args[0].(type) {
	case starlark.String:
		return m.work(add(len(x), mul(len(x), len(x))/stepUnits))
	case starlark.Int:
		return chargeNumbers(m, x, x)
	}
	return nil
}

func rangeList(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var first starlark.Int
	var second, third starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &first, &second, &third); err != nil {
		return nil, err
	}
	const most = 1 << 53 // sums and differences of two of them are ints
	part := [3]int{0, 0, 1}
	given := part[:len(args)]
	if len(args) == 1 {
		given = part[1:2]
	}
	for i, arg := range args {
		if err := starlark.AsInt(arg, &given[i]); err != nil {
			return nil, fmt.Errorf("range: %w", err)
		}
		if given[i] < -most || given[i] > most {
			return nil, fmt.Errorf("range: %d is too large", given[i])
		}
	}
	start, stop, step := part[0], part[1], part[2]
	if step == 0 {
		return nil, errors.New("range: step argument must not be zero")
	}
	count := 0
	if step > 0 && start < stop {
		count = (stop-start-1)/step + 1
	} else if step < 0 && start > stop {
		count = (start-stop-1)/-step + 1
	}
	if err := meterOf(thread).list(count); err != nil {
		return nil, err
	}
	elems := make([]starlark.Value, count)
	for i := range elems {
		elems[i] = starlark.MakeInt(start + i*step)
	}
	return starlark.NewList(elems), nil
}

// A dict has its keys. The caller must not change the elements.
func elements(m *meter, fn string, v starlark.Value) ([]starlark.Value, error) {
	n := starlark.Len(v)
	iter := starlark.Iterate(v)
	if iter == nil {
		return nil, fmt.Errorf("%s: %s value is not iterable", fn, v.Type())
	}
	defer iter.Done()
	if err := m.list(n); err != nil {
		return nil, err
	}
	elems := make([]starlark.Value, 0, n)
	var elem starlark.Value
	for iter.Next(&elem) {
		elems = append(elems, elem)
	}
	return elems, nil
}

func enumerate(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var iterable starlark.Value
	number := starlark.MakeInt(0)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "iterable", &iterable, "start?", &number); err != nil {
		return nil, err
	}
	m := meterOf(thread)
	elems, err := elements(m, b.Name(), iterable)
	if err != nil {
		return nil, err
	}
	perRow := rowUnits + 2*elementUnits + 8*(words(number)-1)
	if err := m.work(mul(len(elems), perRow)); err != nil {
		return nil, err
	}
	one := starlark.MakeInt(1)
	for i, elem := range elems {
		elems[i] = starlark.NewList([]starlark.Value{number, elem})
		number = number.Add(one)
	}
	return starlark.NewList(elems), nil
}

func zip(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, errors.New("zip does not accept keyword arguments")
	}
	m := meterOf(thread)
	columns := make([][]starlark.Value, len(args))
	rows := 0
	for i, arg := range args {
		var err error
		if columns[i], err = elements(m, b.Name(), arg); err != nil {
			return nil, err
		}
		if n := len(columns[i]); i == 0 || n < rows {
			rows = n
		}
	}
	if err := m.work(mul(rows, rowUnits+elementUnits*(len(args)+1))); err != nil {
		return nil, err
	}
	result := make([]starlark.Value, rows)
	for i := range result {
		row := make([]starlark.Value, len(columns))
		for j, column := range columns {
			row[j] = column[i]
		}
		result[i] = starlark.NewList(row)
	}
	return starlark.NewList(result), nil
}

func keysOf(thread *starlark.Thread, key starlark.Callable, elems []starlark.Value) ([]starlark.Value, error) {
	if key == nil {
		return elems, nil
	}
	if err := meterOf(thread).list(len(elems)); err != nil {
		return nil, err
	}
	keys := make([]starlark.Value, len(elems))
	for i, elem := range elems {
		if err := meterOf(thread).work(stepUnits); err != nil {
			return nil, err
		}
		var err error
		if keys[i], err = key.CallInternal(thread, starlark.Tuple{elem}, nil); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// extreme is min and max: the first of the smallest or largest elements.
func extreme(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("%s requires at least one positional argument", b.Name())
	}
	var key starlark.Callable
	if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "key??", &key); err != nil {
		return nil, err
	}
	m := meterOf(thread)
	elems := []starlark.Value(args)
	if len(args) == 1 {
		var err error
		if elems, err = elements(m, b.Name(), args[0]); err != nil {
			return nil, err
		}
	}
	if len(elems) == 0 {
		return nil, fmt.Errorf("%s: argument is an empty sequence", b.Name())
	}
	keys, err := keysOf(thread, key, elems)
	if err != nil {
		return nil, err
	}
	op, sign := syntax.LT, -1
	if b.Name() == "max" {
		op, sign = syntax.GT, +1
	}
	best := 0
	for i := 1; i < len(keys); i++ {
		c, err := order(m, op, keys[i], keys[best])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		if c*sign > 0 {
			best = i
		}
	}
	return elems[best], nil
}

func sorted(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var iterable starlark.Value
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "iterable", &iterable, "key??", &key, "reverse?", &reverse); err != nil {
		return nil, err
	}
	m := meterOf(thread)
	elems, err := elements(m, b.Name(), iterable)
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(thread, key, elems)
	if err != nil {
		return nil, err
	}
	if err := m.work(mul(len(elems), elementUnits)); err != nil {
		return nil, err
	}
	places := make([]int, len(elems))
	for i := range places {
		places[i] = i
	}
	sign := 1
	if reverse {
		sign = -1
	}
	var failed error // ends the comparing; the sort itself cannot be stopped
	slices.SortStableFunc(places, func(i, j int) int {
		if failed != nil {
			return 0
		}
		c, err := order(m, syntax.LT, keys[i], keys[j])
		if err != nil {
			failed = fmt.Errorf("sorted: %w", err)
		}
		return c * sign
	})
	if failed != nil {
		return nil, failed
	}
	result := make([]starlark.Value, len(elems))
	for i, place := range places {
		result[i] = elems[place]
	}
	return starlark.NewList(result), nil
}

func str(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	if text, ok := x.(starlark.String); ok {
		return text, nil
	}
	m := meterOf(thread)
	if _, err := m.printed(x); err != nil {
		return nil, err
	}
	text := x.String()
	return starlark.String(text), m.text(len(text))
}

func dict(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("dict: got %d arguments, want at most 1", len(args))
	}
	m := meterOf(thread)
	var items []starlark.Tuple
	if len(args) == 1 {
		var err error
		if items, err = pairs(m, args[0]); err != nil {
			return nil, err
		}
	}
	items = append(items, kwargs...)
	if err := m.work(add(dictUnits, mul(len(items), dictUnits/8))); err != nil {
		return nil, err
	}
	d := starlark.NewDict(len(items))
	for _, item := range items {
		key, ok := item[0].(starlark.String)
		if !ok {
			return nil, keyError(item[0])
		}
		if err := m.work(len(key)); err != nil {
			return nil, err
		}
		if err := d.SetKey(key, item[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// A dict, or a list of lists of two.
func pairs(m *meter, v starlark.Value) ([]starlark.Tuple, error) {
	if d, ok := v.(*starlark.Dict); ok {
		if err := m.work(mul(d.Len(), rowUnits+2*elementUnits)); err != nil {
			return nil, err
		}
		return d.Items(), nil
	}
	elems, err := elements(m, "dict", v)
	if err != nil {
		return nil, err
	}
	if err := m.work(mul(len(elems), rowUnits+2*elementUnits)); err != nil {
		return nil, err
	}
	items := make([]starlark.Tuple, len(elems))
	for i, elem := range elems {
		pair, ok := elem.(*starlark.List)
		if !ok || pair.Len() != 2 {
			return nil, fmt.Errorf("dict: element %d is not a list of key and value", i)
		}
		items[i] = starlark.Tuple{pair.Index(0), pair.Index(1)}
	}
	return items, nil
}

func sum(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var list starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &list); err != nil {
		return nil, err
	}
	m := meterOf(thread)
	numbers, ok := list.(*starlark.List)
	if !ok {
		return nil, fmt.Errorf("sum: got %s, want a list of numbers", list.Type())
	}
	var total starlark.Value = starlark.MakeInt(0)
	for i := range numbers.Len() {
		number := numbers.Index(i)
		switch number.(type) {
		case starlark.Int, starlark.Float:
		default:
			return nil, fmt.Errorf("sum: element %d is a %s, not a number", i, number.Type())
		}
		if err := m.work(elementUnits); err != nil {
			return nil, err
		}
		var err error
		if total, err = minus(m, syntax.PLUS, total, number); err != nil {
			return nil, fmt.Errorf("sum: %w", err)
		}
	}
	return total, nil
}

func isexception(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	typ := "Exception"
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v, &typ); err != nil {
		return nil, err
	}
	return starlark.Bool(isException(v, typ)), nil
}
