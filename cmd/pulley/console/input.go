package console

import (
	"bytes"
	"encoding/json"
)

// duplicateKey returns the first duplicate key of an object; empty also if the text is no JSON.
func duplicateKey(data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	type level struct {
		keys  map[string]bool // nil: a list
		value bool            // the next text is a value, not a key
	}
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		var top *level
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if top != nil && top.keys != nil && !top.value {
			if key, is := token.(string); is {
				if top.keys[key] {
					return key
				}
				top.keys[key], top.value = true, true
				continue
			}
		}
		if top != nil {
			top.value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
