package yamlfile

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"pulley/engine/ir"
)

const (
	// BytesMax bounds a file's size.
	BytesMax = 1 << 20

	valuesMax = 200_000 // after resolving aliases
	depthMax  = 64
)

// Parse parses a file's text; file is its name in mistakes. It returns nil if nothing can be read; the report has the reason.
func Parse(file string, data []byte, r *Report) *Value {
	p := &parser{file: file, data: data, Report: r}
	begin := ir.Pos{File: file, Line: 1, Col: 1}
	switch {
	case len(data) > BytesMax:
		r.Add(begin, "the file is over the limit of %d bytes; keep what is large in files of its own", BytesMax)
		return nil
	case !utf8.Valid(data):
		r.Add(begin, "the text is not UTF-8; save it as such")
		return nil
	}
	root := p.document()
	if root == nil {
		return nil
	}
	return p.value(root, 0)
}

type parser struct {
	file string
	data []byte
	*Report
	values int
	inside []*yaml.Node // anchors being resolved
}

func (p *parser) pos(line, col int) ir.Pos {
	return ir.Pos{File: p.file, Line: max(line, 1), Col: max(col, 1)}
}

func (p *parser) at(n *yaml.Node) ir.Pos { return p.pos(n.Line, n.Column) }

func (p *parser) document() *yaml.Node {
	loader, err := yaml.NewLoader(bytes.NewReader(p.data))
	if err != nil {
		p.syntax(err)
		return nil
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		p.Add(p.pos(1, 1), "the file is empty; it holds a map of keys and values")
		return nil
	case err != nil:
		p.syntax(err)
		return nil
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.syntax(err)
		return nil
	default:
		p.Add(p.at(&second), "another document begins here; write one in a file, without a line of ---")
	}
	return doc.Content[0]
}

func (p *parser) syntax(err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		p.Add(p.pos(1, 1), "not YAML: %s", oneLine(err.Error()))
		return
	}
	mark := load.Mark
	text := load.Message
	if load.ContextMsg != "" {
		text = load.ContextMsg + ": " + text
		if load.ContextMark.Line > 0 && strings.Contains(load.Message, "unexpected end") {
			mark = load.ContextMark // its begin is more helpful than the end of the file
		}
	}
	p.Add(p.pos(mark.Line, mark.Column), "not YAML: %s%s", oneLine(text), p.remedy(mark.Line, load.Message))
}

func (p *parser) remedy(line int, message string) string {
	lines := strings.Split(string(p.data), "\n")
	text := ""
	if line >= 1 && line <= len(lines) {
		text = lines[line-1]
	}
	switch {
	case strings.HasPrefix(strings.TrimLeft(text, " "), "\t"):
		return "; the line begins with a tab, and YAML takes only spaces there"
	case strings.Contains(message, "mapping values are not allowed"):
		return "; a text with a colon and a space in it stands in quotes, and a key begins its line"
	case strings.Contains(message, "unknown anchor"):
		return "; a text that begins with * stands in quotes"
	case strings.Contains(message, "cannot start any token"):
		return "; a text that begins with @ or ` stands in quotes"
	case strings.Contains(message, "did not find expected key"):
		return "; look at the indentation of this line and the one before"
	}
	return ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// value converts a node; nil after a mistake that leaves nothing of it.
func (p *parser) value(n *yaml.Node, depth int) *Value {
	switch p.values++; {
	case p.values == valuesMax+1:
		p.Add(p.at(n), "the file has more than %d values, counting what aliases stand for; make it smaller", valuesMax)
		return nil
	case p.values > valuesMax:
		return nil
	case depth > depthMax:
		p.Add(p.at(n), "lists and maps are nested deeper than %d; make it flatter", depthMax)
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return p.alias(n, depth)
	}
	if n.Anchor != "" {
		p.inside = append(p.inside, n)
		defer func() { p.inside = p.inside[:len(p.inside)-1] }()
	}
	v := &Value{Pos: p.at(n)}
	switch n.Kind {
	case yaml.SequenceNode:
		v.kind = listKind
		for _, item := range n.Content {
			if element := p.value(item, depth+1); element != nil {
				v.items = append(v.items, element)
			}
		}
		return v
	case yaml.MappingNode:
		v.kind = mapKind
		p.fields(v, n, depth)
		return v
	}
	return p.scalar(v, n)
}

func (p *parser) alias(n *yaml.Node, depth int) *Value {
	if n.Alias == nil || slices.Contains(p.inside, n.Alias) {
		p.Add(p.at(n), "*%s stands for what it is itself a part of; write out what is meant", n.Value)
		return nil
	}
	return p.value(n.Alias, depth)
}

var tags = map[string]kind{
	"!!null": nullKind, "!!bool": boolKind, "!!int": intKind, "!!float": floatKind, "!!str": textKind,
	"!!timestamp": textKind, // times stay texts
}

func (p *parser) scalar(v *Value, n *yaml.Node) *Value {
	k, known := tags[n.ShortTag()]
	if !known {
		p.Add(v.Pos, "the tag %s is not known; leave it out", oneLine(n.Tag))
		return nil
	}
	v.kind, v.text = k, n.Value
	if k == floatKind && wholeNumber(n.Value) {
		v.kind = intKind // too large for YAML, but not for us
	}
	return v
}

func wholeNumber(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return digits != "" && len(text)-len(digits) <= 1 && strings.Trim(digits, "0123456789") == ""
}

func (p *parser) fields(v *Value, n *yaml.Node, depth int) {
	seen := map[string]ir.Pos{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		f := Field{Pos: p.at(key)}
		for key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		f.Name = key.Value
		f.Value = p.value(value, depth+1)
		switch first, twice := seen[f.Name]; {
		case key.Kind != yaml.ScalarNode:
			p.Add(f.Pos, "a key is a text, not a list or a map; write one")
			continue
		case tags[key.ShortTag()] != textKind:
			p.Add(f.Pos, "the key %s is no text; put it in quotes, as in \"%s\"", oneLine(key.Value), oneLine(key.Value))
			continue
		case twice:
			p.Add(f.Pos, "%s stands twice in this map, and on line %d first; take one out", shown(f.Name), first.Line)
			continue
		}
		seen[f.Name] = f.Pos
		if f.Value != nil {
			v.fields = append(v.fields, f)
		}
	}
	for _, m := range merges {
		p.merge(v, m, seen, depth)
	}
}

// merge adds the fields of a map, or of each of a list of maps, that v does not have.
func (p *parser) merge(v *Value, n *yaml.Node, seen map[string]ir.Pos, depth int) {
	from := p.value(n, depth+1)
	if from == nil {
		return
	}
	maps := []*Value{from}
	if from.kind == listKind {
		maps = from.items
	}
	for _, m := range maps {
		if m.kind != mapKind {
			p.Add(p.at(n), "<< takes a map, or a list of maps, not %s; name one with an anchor", m.Kind())
			continue
		}
		for _, f := range m.fields {
			if _, have := seen[f.Name]; !have {
				seen[f.Name] = f.Pos
				v.fields = append(v.fields, f)
			}
		}
	}
}
