package httpjob

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

const keyName = "pulley.key"

type template struct {
	texts []string // one more than names
	names []string
}

// In a template, ${name} is an argument, and $$ a dollar sign.
func parseTemplate(text string) (template, error) {
	var t template
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			t.texts = append(t.texts, b.String())
			return t, nil
		}
		switch {
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "{"):
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed || name == "" || strings.ContainsAny(name, " ${\n") {
				return template{}, fmt.Errorf("in %q, ${ is no place for an argument; write ${name}", text)
			}
			t.texts, t.names = append(t.texts, b.String()), append(t.names, name)
			b.Reset()
			text = after
		default:
			return template{}, fmt.Errorf("in %q, a dollar sign stands by itself; write $$, or ${name} for an argument", text)
		}
	}
}

// fill inserts values, if escaped each as one part of a URL's path.
func (t template) fill(args map[string]json.RawMessage, key string, escaped bool) (string, error) {
	var b strings.Builder
	for i, name := range t.names {
		b.WriteString(t.texts[i])
		value := key
		if name != keyName {
			raw, ok := args[name]
			if !ok {
				return "", fmt.Errorf("argument %s is missing, which the job's overrides name", name)
			}
			value = string(raw)
			if strings.HasPrefix(value, `"`) {
				if err := json.Unmarshal(raw, &value); err != nil {
					return "", fmt.Errorf("argument %s cannot be read: %w", name, err)
				}
			}
		}
		if escaped {
			if value == "." || value == ".." {
				return "", fmt.Errorf("argument %s is %q, which leads to another place in an address", name, value)
			}
			value = url.PathEscape(value)
		}
		b.WriteString(value)
	}
	return b.String() + t.texts[len(t.names)], nil
}
