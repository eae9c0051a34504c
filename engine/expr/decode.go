package expr

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

const unlimited = math.MaxInt

// All values share emptyList and emptyDict: an empty dict takes half a kilobyte, and needs three bytes of input.
var (
	emptyList = frozen(starlark.NewList(nil))
	emptyDict = frozen(starlark.NewDict(0))
)

func frozen(v starlark.Value) Value {
	v.Freeze()
	return v
}

// Unlimited accepts values of any size: stored ones were limited when they were made.
var Unlimited = ir.Limits{ValueBytes: math.MaxInt}

// Decode decodes one value from JSON text. It is strict: the text must be UTF-8 and at most lim.ValueBytes long, hold one value
// and nothing after it, nest no deeper than 512, and escape only whole characters. A number without point and exponent is an
// int of any size, any other a float, which must be finite. Of a repeated key the last value counts. The value does not refer
// to data. Errors are *EvalErrors that name the byte.
func Decode(data []byte, lim ir.Limits) (Value, error) {
	return decode(data, lim.MaxValueBytes(), 0)
}

func decode(data []byte, bytesMax, depth int) (Value, error) {
	if len(data) > bytesMax {
		return nil, limitError("bytes of a value", len(data), bytesMax)
	}
	if !utf8.Valid(data) {
		return nil, valueErrorf("JSON at byte %d: this is not UTF-8", invalidUTF8(data))
	}
	d := decoder{data: data}
	d.space()
	v, err := d.value(depth)
	if err != nil {
		return nil, err
	}
	d.space()
	if d.at < len(data) {
		return nil, d.errorf("nothing may follow the value")
	}
	if add(len(data), d.growth) > bytesMax {
		return normalizeAt(v, bytesMax, depth)
	}
	v.Freeze()
	return v, nil
}

func invalidUTF8(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

type decoder struct {
	data  []byte
	at    int
	elems []starlark.Value // of open lists and dicts, innermost last

	// growth is how many bytes longer the encoded value may be: 1e9 becomes 1000000000.0, and only numbers with an exponent
	// grow. A value that could be decoded but not encoded is refused.
	growth int

	keys [keyCache]starlark.Value // recent keys by hash: the dicts of a list share theirs
}

const keyCache = 32

func (d *decoder) errorf(format string, args ...any) error {
	err := valueErrorf(format, args...)
	err.Msg = "JSON at byte " + strconv.Itoa(d.at) + ": " + err.Msg
	return err
}

func (d *decoder) unexpected(want string) error {
	if d.at >= len(d.data) {
		return d.errorf("the text ends where %s should stand", want)
	}
	r, _ := utf8.DecodeRune(d.data[d.at:])
	return d.errorf("%q stands where %s should stand", r, want)
}

// peek returns the next byte, or 0 at the end: JSON's grammar has no byte 0.
func (d *decoder) peek() byte {
	if d.at < len(d.data) {
		return d.data[d.at]
	}
	return 0
}

func (d *decoder) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *decoder) value(depth int) (Value, error) {
	if depth > depthMax {
		return nil, limitError("nesting of a value", depth, depthMax)
	}
	switch c := d.peek(); c {
	case '{':
		return d.dict(depth)
	case '[':
		return d.list(depth)
	case '"':
		s, err := d.text()
		return starlark.String(s), err
	case 't':
		return starlark.True, d.word("true")
	case 'f':
		return starlark.False, d.word("false")
	case 'n':
		return starlark.None, d.word("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return d.number()
		}
	}
	return nil, d.unexpected("a value")
}

func (d *decoder) word(word string) error {
	if !bytes.HasPrefix(d.data[d.at:], []byte(word)) {
		return d.unexpected("null, true or false")
	}
	d.at += len(word)
	return nil
}

func (d *decoder) list(depth int) (Value, error) {
	d.at++
	d.space()
	if d.peek() == ']' {
		d.at++
		return emptyList, nil
	}
	base := len(d.elems)
	for {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.elems = append(d.elems, v)
		d.space()
		switch d.peek() {
		case ',':
			d.at++
			d.space()
		case ']':
			d.at++
			elems := make([]starlark.Value, len(d.elems)-base)
			copy(elems, d.elems[base:])
			d.elems = d.elems[:base]
			return starlark.NewList(elems), nil
		default:
			return nil, d.unexpected("a comma or ]")
		}
	}
}

func (d *decoder) dict(depth int) (Value, error) {
	d.at++
	d.space()
	if d.peek() == '}' {
		d.at++
		return emptyDict, nil
	}
	base := len(d.elems)
	for {
		if err := d.entry(depth); err != nil {
			return nil, err
		}
		d.space()
		switch d.peek() {
		case ',':
			d.at++
			d.space()
		case '}':
			d.at++
			entries := d.elems[base:]
			d.elems = d.elems[:base]
			return newDict(entries)
		default:
			return nil, d.unexpected("a comma or }")
		}
	}
}

func (d *decoder) entry(depth int) error {
	if d.peek() != '"' {
		return d.unexpected("a key in double quotes")
	}
	key, err := d.key()
	if err != nil {
		return err
	}
	d.space()
	if d.peek() != ':' {
		return d.unexpected("a colon")
	}
	d.at++
	d.space()
	d.elems = append(d.elems, key)
	v, err := d.value(depth + 1)
	if err != nil {
		return err
	}
	d.elems = append(d.elems, v)
	return nil
}

func newDict(entries []starlark.Value) (Value, error) {
	dict := starlark.NewDict(len(entries) / 2)
	for i := 0; i < len(entries); i += 2 {
		if err := dict.SetKey(entries[i], entries[i+1]); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

func (d *decoder) key() (starlark.Value, error) {
	const whole = 24 // the longest key that is kept
	rest := d.data[d.at+1:]
	end := bytes.IndexByte(rest[:min(len(rest), whole+1)], '"')
	if end < 1 {
		s, err := d.text()
		return starlark.String(s), err
	}
	slot := &d.keys[(uint(rest[0])*7+uint(rest[end-1])*31+uint(end))%keyCache]
	if kept, ok := (*slot).(starlark.String); ok && string(kept) == string(rest[:end]) {
		d.at += end + 2
		return *slot, nil
	}
	s, err := d.text()
	if err != nil {
		return nil, err
	}
	if len(s) == end { // no escapes: the bytes are the text
		*slot = starlark.String(s)
		return *slot, nil
	}
	return starlark.String(s), nil
}

func (d *decoder) text() (string, error) {
	d.at++
	start := d.at
	for d.at < len(d.data) {
		switch c := d.data[d.at]; {
		case c == '"':
			s := string(d.data[start:d.at])
			d.at++
			return s, nil
		case c == '\\':
			return d.escapedText(start)
		case c < ' ':
			return "", d.errorf("a control character must be escaped")
		}
		d.at++
	}
	return "", d.unexpected("a closing quote")
}

func (d *decoder) escapedText(start int) (string, error) {
	buf := append(make([]byte, 0, 2*(d.at-start)+16), d.data[start:d.at]...)
	for d.at < len(d.data) {
		c := d.data[d.at]
		switch {
		case c == '"':
			d.at++
			return string(buf), nil
		case c < ' ':
			return "", d.errorf("a control character must be escaped")
		case c != '\\':
			buf = append(buf, c)
			d.at++
			continue
		}
		var err error
		if buf, err = d.escape(buf); err != nil {
			return "", err
		}
	}
	return "", d.unexpected("a closing quote")
}

func (d *decoder) escape(buf []byte) ([]byte, error) {
	d.at++
	c := d.peek()
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return d.unicode(buf)
	default:
		return buf, d.unexpected(`one of " \ / b f n r t u`)
	}
	d.at++
	return append(buf, c), nil
}

// unicode decodes the rest of \uXXXX, or of a surrogate pair.
func (d *decoder) unicode(buf []byte) ([]byte, error) {
	r, err := d.hex()
	if err != nil {
		return buf, err
	}
	if utf16.IsSurrogate(r) {
		if !bytes.HasPrefix(d.data[d.at:], []byte(`\u`)) {
			return buf, d.errorf("the escape before this is half a character")
		}
		d.at++
		low, err := d.hex()
		if err != nil {
			return buf, err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return buf, d.errorf("the two escapes before this do not make a character")
		}
	}
	return utf8.AppendRune(buf, r), nil
}

func (d *decoder) hex() (rune, error) {
	d.at++
	var r rune
	for range 4 {
		c := d.peek()
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, d.unexpected("a hexadecimal digit")
		}
		r = r<<4 | rune(c)
		d.at++
	}
	return r, nil
}

func (d *decoder) number() (Value, error) {
	start := d.at
	if d.peek() == '-' {
		d.at++
	}
	if d.peek() == '0' {
		d.at++
		if c := d.peek(); '0' <= c && c <= '9' {
			return nil, d.errorf("a number must not begin with 0")
		}
	} else if err := d.digits(); err != nil {
		return nil, err
	}
	isFloat, hasExponent := false, false
	if d.peek() == '.' {
		isFloat = true
		d.at++
		if err := d.digits(); err != nil {
			return nil, err
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		isFloat, hasExponent = true, true
		d.at++
		if c := d.peek(); c == '+' || c == '-' {
			d.at++
		}
		if err := d.digits(); err != nil {
			return nil, err
		}
	}
	text := d.data[start:d.at]
	if !isFloat {
		return parseInt(text), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		d.at = start
		return nil, d.errorf("the number %s is too large for a float", clip(string(text)))
	}
	if hasExponent {
		d.growth += max(0, floatBytes(f)-len(text))
	}
	return starlark.Float(f), nil
}

func (d *decoder) digits() error {
	start := d.at
	for c := d.peek(); '0' <= c && c <= '9'; c = d.peek() {
		d.at++
	}
	if d.at == start {
		return d.unexpected("a digit")
	}
	return nil
}

func parseInt(text []byte) starlark.Int {
	digits := text
	negative := text[0] == '-'
	if negative {
		digits = text[1:]
	}
	const smallDigits = 18 // always fit an int64
	if len(digits) > smallDigits {
		n := parseDigits(digits)
		if negative {
			n.Neg(n)
		}
		return starlark.MakeBigInt(n)
	}
	var n int64
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return starlark.MakeInt64(n)
}

// parseDigits halves long numbers: big.Int.SetString takes quadratic time, seconds for a megabyte.
func parseDigits(digits []byte) *big.Int {
	const whole = 2000
	if len(digits) <= whole {
		n, _ := new(big.Int).SetString(string(digits), 10)
		return n
	}
	low := len(digits) / 2
	n := parseDigits(digits[:len(digits)-low])
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(low)), nil))
	return n.Add(n, parseDigits(digits[len(digits)-low:]))
}
