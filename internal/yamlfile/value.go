package yamlfile

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"pulley/engine/ir"
	"pulley/internal/bytesize"
	"pulley/internal/clip"
	"pulley/internal/nearest"
)

// Value is a part of a file, immutable once read.
type Value struct {
	Pos    ir.Pos // of its first character
	kind   kind
	text   string // of a scalar, as written, without quotes
	items  []*Value
	fields []Field
}

// Field is a key of a map with its value.
type Field struct {
	Name  string
	Pos   ir.Pos // of the key
	Value *Value
}

type kind int

const (
	nullKind kind = iota + 1
	boolKind
	intKind
	floatKind
	textKind
	listKind
	mapKind
)

// Kind names the value's type, with an article.
func (v *Value) Kind() string {
	return [...]string{nullKind: "nothing", boolKind: "a truth value", intKind: "a whole number", floatKind: "a number",
		textKind: "a text", listKind: "a list", mapKind: "a map"}[v.kind]
}

// IsNull reports whether the value is empty or null.
func (v *Value) IsNull() bool { return v.kind == nullKind }

// IsMap reports whether the value is a map.
func (v *Value) IsMap() bool { return v.kind == mapKind }

// IsList reports whether the value is a list.
func (v *Value) IsList() bool { return v.kind == listKind }

// IsText reports whether the value is a text, such as a quoted number.
func (v *Value) IsText() bool { return v.kind == textKind }

// Scalar returns a scalar as written, without quotes; false for lists, maps and null.
func (v *Value) Scalar() (string, bool) {
	return v.text, v.kind == boolKind || v.kind == intKind || v.kind == floatKind || v.kind == textKind
}

// Items are a list's elements; nil for others. The caller must not change them.
func (v *Value) Items() []*Value { return v.items }

// Fields are a map's keys, those of merge keys last; nil for others. The caller must not change them.
func (v *Value) Fields() []Field { return v.fields }

// Go returns the value as nil, bool, *big.Int, float64, string, []any, or []Field for a map. It fails for a number that is not
// finite.
func (v *Value) Go() (any, error) {
	switch v.kind {
	case boolKind:
		return strings.EqualFold(v.text, "true"), nil
	case intKind:
		if n, ok := new(big.Int).SetString(strings.ReplaceAll(v.text, "_", ""), 0); ok {
			return n, nil
		}
		return nil, ir.Errorf(v.Pos, "%s is no whole number; put it in quotes if it is a text", shown(v.text))
	case floatKind:
		f, err := strconv.ParseFloat(strings.ReplaceAll(v.text, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, ir.Errorf(v.Pos, "%s is no finite number; put it in quotes if it is a text", shown(v.text))
		}
		return f, nil
	case textKind:
		return v.text, nil
	}
	return nil, nil
}

func shown(text string) string { return strconv.Quote(clip.Runes(text, 60)) }

// Map returns the fields of a map whose keys the file chooses. In mistakes, what names the content, such as "parameters".
func (r *Report) Map(v *Value, what string) []Field {
	if v.kind != mapKind {
		r.Add(v.Pos, "%s are a map of names and what they stand for, not %s", what, v.Kind())
	}
	return v.fields
}

// Key is an allowed key of a map, with a reader of its value.
type Key struct {
	Name string
	Read func(*Value)
}

// Fields reads the values of a map's keys, and reports whether v is a map. An unknown key is a mistake, unless it begins with
// x- (for anchors). In mistakes, what names the subject, such as "a scenario".
func (r *Report) Fields(v *Value, what string, known ...Key) bool {
	if v.kind != mapKind {
		r.Add(v.Pos, "%s is a map of keys and values, not %s; its keys are %s", what, v.Kind(), keyNames(known))
		return false
	}
	for _, f := range v.fields {
		read := func(*Value) {
			if !strings.HasPrefix(f.Name, "x-") {
				r.unknown(f, what, known)
			}
		}
		for _, k := range known {
			if k.Name == f.Name {
				read = k.Read
			}
		}
		read(f.Value)
	}
	return true
}

func (r *Report) unknown(f Field, what string, known []Key) {
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	meant := "its keys are " + strings.Join(names, ", ")
	if word := nearest.Word(strings.ToLower(f.Name), names); word != "" {
		meant = "did you mean " + word + "?"
	}
	r.Add(f.Pos, "%s has no key %s; %s", what, shown(f.Name), meant)
}

func keyNames(known []Key) string {
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// Text reads a non-empty text. Numbers and booleans count as written.
func (r *Report) Text(v *Value, what string) (string, bool) {
	text, ok := v.Scalar()
	switch {
	case !ok:
		r.Add(v.Pos, "%s is a text, not %s; write one", what, v.Kind())
		return "", false
	case strings.TrimSpace(text) == "":
		r.Add(v.Pos, "%s is empty; write something", what)
		return "", false
	}
	return text, true
}

// Line reads a text of one line, without outer spaces.
func (r *Report) Line(v *Value, what string) (string, bool) {
	text, ok := r.Text(v, what)
	if text = strings.TrimSpace(text); ok && strings.ContainsAny(text, "\n\r") {
		r.Add(v.Pos, "%s has several lines; write one, and what is longer behind a #", what)
		return "", false
	}
	return text, ok
}

// Int reads a whole number from least to most.
func (r *Report) Int(v *Value, what string, least, most int) (int, bool) {
	if v.kind != intKind {
		r.Add(v.Pos, "%s is a whole number, not %s; write one without quotes", what, v.describe())
		return 0, false
	}
	n, err := v.Go()
	if err != nil {
		r.AddError(v.Pos, err)
		return 0, false
	}
	big := n.(*big.Int)
	if !big.IsInt64() || big.Int64() < int64(least) || big.Int64() > int64(most) {
		r.Add(v.Pos, "%s is %s; choose from %d to %d", what, clip.Runes(v.text, 40), least, most)
		return 0, false
	}
	return int(big.Int64()), true
}

func (v *Value) describe() string {
	if text, ok := v.Scalar(); ok {
		return fmt.Sprintf("%s %s", v.Kind(), shown(text))
	}
	return v.Kind()
}

// Bool reads true or false.
func (r *Report) Bool(v *Value, what string) (b, ok bool) {
	switch text, scalar := v.Scalar(); {
	case scalar && text == "true":
		return true, true
	case scalar && text == "false":
		return false, true
	}
	r.Add(v.Pos, "%s is %s; write true or false", what, v.describe())
	return false, false
}

// Duration reads a non-negative duration.
func (r *Report) Duration(v *Value, what string) (time.Duration, bool) {
	text, ok := v.Scalar()
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d < 0 {
		r.Add(v.Pos, "%s is a time, not %s; write one like 30s or 100ms", what, v.describe())
		return 0, false
	}
	return d, true
}

// Size reads a number of bytes.
func (r *Report) Size(v *Value, what string) (int64, bool) {
	text, ok := v.Scalar()
	n, err := bytesize.Parse(text)
	if !ok || err != nil {
		r.Add(v.Pos, "%s is a size, not %s; write one like 512B, 4kB or 1.5MiB", what, v.describe())
		return 0, false
	}
	return n, true
}

// List returns the elements of a list, or any other value but null as one element.
func (r *Report) List(v *Value) []*Value {
	switch v.kind {
	case listKind:
		return v.items
	case nullKind:
		return nil
	}
	return []*Value{v}
}
