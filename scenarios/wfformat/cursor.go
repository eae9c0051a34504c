package wfformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// cursor walks over valid JSON text and knows its byte offset and path for messages. It matches names exactly, unlike
// encoding/json, which accepts "Tasks" for "tasks".
type cursor struct {
	file string
	data []byte
	at   int // the next unconsumed byte
	path []step
}

// step of a path is a name, or an index if the name is empty.
type step struct {
	name  string
	index int
}

func newCursor(file string, data []byte) (*cursor, error) {
	c := &cursor{file: file, data: data}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) { // some editors write a byte order mark
		c.data = data[3:]
	}
	if len(bytes.TrimSpace(c.data)) == 0 {
		return nil, &Error{File: file, Msg: "the file is empty; a WfFormat trace is a JSON object"}
	}
	if !utf8.Valid(c.data) {
		return nil, c.failAt(invalidUTF8(c.data), "not JSON: the text is not UTF-8; save it as such")
	}
	if err := json.Unmarshal(c.data, &anything{}); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, c.failAt(int(syntax.Offset)-1, "not JSON: %v", err)
		}
		return nil, c.failAt(0, "not JSON: %v", err)
	}
	c.space()
	return c, nil
}

// anything is for a syntax check.
type anything struct{}

func (*anything) UnmarshalJSON([]byte) error { return nil }

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

func (c *cursor) fail(format string, args ...any) *Error {
	return c.failAt(c.at, format, args...)
}

func (c *cursor) failAt(offset int, format string, args ...any) *Error {
	line, col := lineCol(c.data, offset)
	return &Error{File: c.file, Line: line, Col: col, Path: c.where(), Msg: fmt.Sprintf(format, args...)}
}

func (c *cursor) where() string {
	var b strings.Builder
	for _, s := range c.path {
		switch {
		case s.name == "":
			fmt.Fprintf(&b, "[%d]", s.index)
		case b.Len() == 0:
			b.WriteString(s.name)
		default:
			b.WriteString("." + s.name)
		}
	}
	return b.String()
}

func (c *cursor) space() {
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

func (c *cursor) kind() string {
	switch c.data[c.at] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a truth value"
	case 'n':
		return "null"
	}
	return "a number"
}

// object calls member for each non-null member of the next object, with the cursor at its value, which member must consume.
func (c *cursor) object(member func(name string) error) error {
	if c.data[c.at] != '{' {
		return c.fail("this is %s, and must be an object", c.kind())
	}
	c.at++
	seen := make(map[string]bool)
	for c.space(); c.data[c.at] != '}'; c.space() {
		if c.data[c.at] == ',' {
			c.at++
			c.space()
		}
		start := c.at
		name := c.text()
		if seen[name] {
			return c.failAt(start, "%s stands twice in this object; take one out", shown(name))
		}
		seen[name] = true
		c.space()
		c.at++
		c.space()
		if c.data[c.at] == 'n' {
			c.skip()
			continue
		}
		c.path = append(c.path, step{name: name})
		if err := member(name); err != nil {
			return err
		}
		c.path = c.path[:len(c.path)-1]
	}
	c.at++
	return nil
}

// list calls element for each element of the next list, which element must consume.
func (c *cursor) list(element func(i int) error) error {
	if c.data[c.at] != '[' {
		return c.fail("this is %s, and must be a list", c.kind())
	}
	c.at++
	i := 0
	for c.space(); c.data[c.at] != ']'; c.space() {
		if c.data[c.at] == ',' {
			c.at++
			c.space()
		}
		c.path = append(c.path, step{index: i})
		if err := element(i); err != nil {
			return err
		}
		c.path = c.path[:len(c.path)-1]
		i++
	}
	c.at++
	return nil
}

// string is not empty.
func (c *cursor) string() (string, error) {
	if c.data[c.at] != '"' {
		return "", c.fail("this is %s, and must be a string", c.kind())
	}
	start := c.at
	s := c.text()
	if s == "" {
		return "", c.failAt(start, "this must not be empty")
	}
	return s, nil
}

// label consumes a string, possibly empty, or a number, as text.
func (c *cursor) label() (string, error) {
	switch c.kind() {
	case "a string":
		return c.text(), nil
	case "a number":
		start := c.at
		c.skip()
		return string(c.data[start:c.at]), nil
	}
	return "", c.fail("this is %s, and must be a string", c.kind())
}

// number is finite.
func (c *cursor) number() (float64, error) {
	start := c.at
	if c.kind() != "a number" {
		return 0, c.fail("this is %s, and must be a number", c.kind())
	}
	c.skip()
	f, err := strconv.ParseFloat(string(c.data[start:c.at]), 64)
	if err != nil {
		return 0, c.failAt(start, "%s is no number that a computer can hold", shown(string(c.data[start:c.at])))
	}
	return f, nil
}

func (c *cursor) text() string {
	start := c.at
	escaped := false
	for c.at++; c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			escaped = true
			c.at++
		}
	}
	c.at++
	raw := c.data[start:c.at]
	if !escaped {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(raw) // unreachable: the text is valid
	}
	return s
}

// skip counts brackets instead of recursing, since the text may be deep.
func (c *cursor) skip() {
	depth := 0
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case '"':
			c.text()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		default:
			c.plain()
		}
		if depth == 0 {
			return
		}
		c.separator()
	}
}

// plain consumes a number, a boolean or null.
func (c *cursor) plain() {
	for c.at < len(c.data) && strings.IndexByte(",:]} \t\r\n", c.data[c.at]) < 0 {
		c.at++
	}
}

func (c *cursor) separator() {
	for c.at < len(c.data) && strings.IndexByte(",: \t\r\n", c.data[c.at]) >= 0 {
		c.at++
	}
}
