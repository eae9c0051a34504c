package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// transient bounds the estimated text of formatting, in multiples of a value's limit. The estimate is coarse; the result itself
// is checked.
const transient = 16

var changing = map[string]string{
	"append":     "write xs + [x]",
	"extend":     "write xs + ys",
	"insert":     "write xs[:i] + [x] + xs[i:]",
	"remove":     "write [x for x in xs if x != y]",
	"clear":      "assign [] or {}",
	"pop":        "write xs[:-1], or {k: v for k, v in d.items() if k != key}",
	"popitem":    "write {k: v for k, v in d.items() if k != key}",
	"setdefault": "write d.get(key, default)",
	"update":     "write dict(d, key=value) or dict(d.items() + e.items())",
}

var methodNames = func() []string {
	var names []string
	seen := map[string]bool{}
	for _, recv := range []starlark.HasAttrs{starlark.String(""), starlark.NewDict(0)} {
		for _, name := range recv.AttrNames() {
			if changing[name] == "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}()

func unknownMethod(name string) string {
	if instead := changing[name]; instead != "" {
		return fmt.Sprintf("values cannot be changed in place by .%s; %s", name, instead)
	}
	return fmt.Sprintf("there is no method .%s; dicts have get, items, keys and values, strings have those of Starlark, such as split, join and replace", name)
}

func callMethod(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	m := meterOf(thread)
	name, recv, args := b.Name(), args[0], args[1:]
	var err error
	switch recv := recv.(type) {
	case starlark.String:
		args, err = m.chargeText(name, string(recv), args, kwargs)
	case *starlark.Dict:
		err = m.chargeDict(name, recv, args)
	default:
		err = fmt.Errorf("%s has no .%s method; only strings and dicts have methods", recv.Type(), name)
	}
	if err != nil {
		return nil, err
	}
	method, err := recv.(starlark.HasAttrs).Attr(name)
	if err != nil {
		return nil, err
	}
	fn, ok := method.(*starlark.Builtin)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s method", recv.Type(), name)
	}
	result, err := fn.CallInternal(thread, args, kwargs)
	if err != nil {
		return nil, err
	}
	if name == "get" {
		return result, nil
	}
	return m.methodResult(name, result)
}

// Tuples and other iterables become lists.
func (m *meter) methodResult(name string, v starlark.Value) (starlark.Value, error) {
	switch v := v.(type) {
	case starlark.String:
		return v, m.text(len(v))
	case starlark.Tuple:
		return starlark.NewList(v), nil
	case *starlark.List:
		if name != "items" {
			return v, m.list(v.Len())
		}
		for i := range v.Len() {
			if err := v.SetIndex(i, starlark.NewList(v.Index(i).(starlark.Tuple))); err != nil {
				return nil, err
			}
		}
		return v, nil
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, *starlark.Dict:
		return v, nil
	}
	iter := starlark.Iterate(v)
	if iter == nil {
		return v, nil
	}
	defer iter.Done()
	var elems []starlark.Value
	var elem starlark.Value
	for iter.Next(&elem) {
		if err := m.work(2 * elementUnits); err != nil {
			return nil, err
		}
		elems = append(elems, elem)
	}
	return starlark.NewList(elems), nil
}

func (m *meter) chargeDict(name string, d *starlark.Dict, args starlark.Tuple) error {
	if name != "get" {
		return m.work(mul(d.Len(), 2*rowUnits))
	}
	if len(args) > 0 {
		if key, ok := args[0].(starlark.String); ok {
			return m.work(len(key))
		}
	}
	return nil
}

// The arguments are in Starlark's form.
func (m *meter) chargeText(name, recv string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, error) {
	if err := m.work(len(recv)); err != nil {
		return nil, err
	}
	for _, arg := range args {
		if text, ok := arg.(starlark.String); ok {
			if err := m.work(len(text)); err != nil {
				return nil, err
			}
		}
	}
	switch name {
	case "replace":
		return args, m.chargeReplace(recv, args)
	case "join":
		return args, m.chargeJoin(recv, args)
	case "format":
		for _, pair := range kwargs {
			args = append(args[:len(args):len(args)], pair[1])
		}
		repeats := len(kwargs) > 0 || strings.ContainsAny(recv, "0123456789")
		return args[:len(args)-len(kwargs)], m.chargeFormat(len(recv), strings.Count(recv, "{"), repeats, args)
	case "startswith", "endswith":
		return m.chargeAffixes(args)
	case "strip", "lstrip", "rstrip":
		return args, m.chargeStrip(recv, args)
	case "split", "rsplit":
		return m.chargeSplit(recv, args)
	}
	return args, nil
}

func (m *meter) chargeReplace(recv string, args starlark.Tuple) error {
	if len(args) < 2 {
		return nil
	}
	old, isText := starlark.AsString(args[0])
	with, alsoText := starlark.AsString(args[1])
	if !isText || !alsoText {
		return nil
	}
	count := strings.Count(recv, old)
	if len(args) > 2 {
		if most, err := starlark.AsInt32(args[2]); err == nil && most >= 0 {
			count = min(count, most)
		}
	}
	return m.text(add(len(recv), mul(count, max(0, len(with)-len(old)))))
}

func (m *meter) chargeJoin(sep string, args starlark.Tuple) error {
	if len(args) != 1 {
		return nil
	}
	iter := starlark.Iterate(args[0])
	if iter == nil {
		return nil
	}
	defer iter.Done()
	total := mul(len(sep), max(0, starlark.Len(args[0])-1))
	var part starlark.Value
	for iter.Next(&part) {
		text, _ := starlark.AsString(part)
		if total = add(total, len(text)); total > m.valueBytes {
			break
		}
	}
	return m.text(total)
}

// chargeFormat charges the formatting of args. If fields may repeat an argument, each may be the largest.
func (m *meter) chargeFormat(total, fields int, repeats bool, args []starlark.Value) error {
	largest := 0
	for _, arg := range args {
		n, err := m.printed(arg)
		if err != nil {
			return err
		}
		if largest = max(largest, n); !repeats {
			total = add(total, n)
		}
	}
	if repeats {
		total = add(total, mul(fields, largest))
	}
	if bound := mul(m.valueBytes, transient); total > bound {
		return limitError("bytes of formatted text", total, bound)
	}
	return nil
}

// chargeAffixes makes a tuple of a list of prefixes or suffixes, and charges the search for each.
func (m *meter) chargeAffixes(args starlark.Tuple) (starlark.Tuple, error) {
	if len(args) == 0 {
		return args, nil
	}
	list, ok := args[0].(*starlark.List)
	if !ok {
		return args, nil
	}
	if err := m.list(list.Len()); err != nil {
		return nil, err
	}
	affixes := make(starlark.Tuple, list.Len())
	for i := range affixes {
		affixes[i] = list.Index(i)
		if text, ok := affixes[i].(starlark.String); ok {
			if err := m.work(len(text)); err != nil {
				return nil, err
			}
		}
	}
	return append(starlark.Tuple{affixes}, args[1:]...), nil
}

// Each character of recv is looked up.
func (m *meter) chargeStrip(recv string, args starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	cutset, _ := starlark.AsString(args[0])
	return m.work(mul(len(recv), utf8.RuneCountInString(cutset)))
}

// chargeSplit charges what Starlark allocates for the parts that maxsplit allows. A maxsplit above the possible number becomes
// none.
func (m *meter) chargeSplit(recv string, args starlark.Tuple) (starlark.Tuple, error) {
	if len(args) < 2 {
		return args, nil
	}
	most, isInt := args[1].(starlark.Int)
	if !isInt {
		return args, nil
	}
	if n, ok := most.Int64(); ok && 0 <= n && n <= int64(len(recv)) {
		return args, m.list(int(n))
	}
	return append(starlark.Tuple{args[0], starlark.MakeInt(-1)}, args[2:]...), nil
}

// interpolate does format % x. A format with several arguments takes them from a list, as Starlark does from a tuple. A format
// with one prints the list.
func interpolate(m *meter, format string, x starlark.Value) (starlark.Value, error) {
	if err := m.work(len(format)); err != nil {
		return nil, err
	}
	args := starlark.Tuple{x}
	list, isList := x.(*starlark.List)
	places := strings.ReplaceAll(format, "%%", "")
	fields := strings.Count(places, "%")
	if isList && fields != 1 {
		if err := m.list(list.Len()); err != nil {
			return nil, err
		}
		args = make(starlark.Tuple, list.Len())
		for i := range args {
			args[i] = list.Index(i)
		}
		x = args
	}
	if err := m.chargeFormat(len(format), fields, strings.Contains(places, "%("), args); err != nil {
		return nil, err
	}
	v, err := starlark.Binary(syntax.PERCENT, starlark.String(format), x)
	if err != nil {
		return nil, err
	}
	return m.methodResult("%", v)
}

// printed returns a bound on the length of the text.
func (m *meter) printed(v starlark.Value) (int, error) {
	if text, ok := v.(starlark.String); ok {
		return mul(4, len(text)), m.work(len(text)) // as %r, with every byte escaped
	}
	p := printer{m: m, most: mul(m.valueBytes, transient)}
	err := p.value(v)
	return p.bytes, err
}

// printer adds up the printed lengths of a value's parts. Parts may be shared many times, so it stops once the sum is too long.
type printer struct {
	m           *meter
	bytes, most int
}

func (p *printer) grow(bytes int) error {
	if p.bytes = add(p.bytes, bytes); p.bytes > p.most {
		return limitError("bytes of formatted text", p.bytes, p.most)
	}
	return p.m.work(mul(bytes, printUnits))
}

func (p *printer) value(v starlark.Value) error {
	const scalar = 26 // no float, None, True or False is longer
	switch v := v.(type) {
	case starlark.String:
		return p.grow(add(2, mul(4, len(v))))
	case starlark.Int:
		if err := p.m.products(v, v); err != nil {
			return err
		}
		return p.grow(intBytes(v))
	case *starlark.List:
		for i := range v.Len() {
			if err := p.grow(len(", ")); err != nil {
				return err
			}
			if err := p.value(v.Index(i)); err != nil {
				return err
			}
		}
		return p.grow(len("[]"))
	case *starlark.Dict:
		for key, elem := range v.Entries() {
			if err := p.grow(len(", : ")); err != nil {
				return err
			}
			if err := p.value(key); err != nil {
				return err
			}
			if err := p.value(elem); err != nil {
				return err
			}
		}
		return p.grow(len("{}"))
	}
	return p.grow(scalar)
}
