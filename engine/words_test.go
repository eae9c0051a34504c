package engine_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const (
	inNames    = iota // split into their words
	inComments        // Go and SQL
	inStrings         // Go literals without struct tags, and SQL statements
	inTexts           // Markdown, shell, Python, YAML, Makefile
	kindsOfText
)

// wordRule is a line of testdata/forbidden.txt.
type wordRule struct {
	text         string
	alternatives []alternative
	instead      string
	atMost       [kindsOfText]int
}

// alternative has a literal prefix for a fast search.
type alternative struct {
	prefix string
	rest   *regexp.Regexp // the whole expression, anchored
}

// splitAlternatives splits an expression at the bars outside parentheses.
func splitAlternatives(expression string) []alternative {
	var found []alternative
	depth, from := 0, 0
	for i, r := range expression + "|" {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth > 0 {
				continue
			}
			text := expression[from:i]
			prefix, _ := regexp.MustCompile(text).LiteralPrefix()
			found = append(found, alternative{prefix, regexp.MustCompile(`^(?:` + text + `)\b`)})
			from = i + 1
		}
	}
	return found
}

// isWordByte agrees with \b.
func isWordByte(b byte) bool { return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' }

type match struct {
	at   int
	word string
}

func (r *wordRule) find(text string) (found []match) {
	for _, a := range r.alternatives {
		for at := 0; ; at++ {
			next := strings.Index(text[at:], a.prefix)
			if next < 0 {
				break
			}
			if at += next; at > 0 && isWordByte(text[at-1]) {
				continue
			}
			if word := a.rest.FindString(text[at:]); word != "" {
				found = append(found, match{at, word})
			}
		}
	}
	return found
}

// Lines are "expression | instead | names comments strings texts".
func readWordRules(t *testing.T) []wordRule {
	t.Helper()
	data, err := os.ReadFile("testdata/forbidden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rules []wordRule
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			t.Fatalf("forbidden.txt: %q has %d columns; want the expression, what to say instead, and four counts", line, len(cells))
		}
		rule := wordRule{text: strings.TrimSpace(cells[0]), instead: strings.TrimSpace(cells[1])}
		rule.alternatives = splitAlternatives(rule.text)
		for _, a := range rule.alternatives {
			if a.prefix == "" {
				t.Fatalf("forbidden.txt: an alternative of %q begins with no letters", rule.text)
			}
		}
		counts := strings.Fields(cells[2])
		if len(counts) != kindsOfText {
			t.Fatalf("forbidden.txt: %q has %d counts, want %d", line, len(counts), kindsOfText)
		}
		for i, count := range counts {
			if rule.atMost[i], err = strconv.Atoi(count); err != nil {
				t.Fatalf("forbidden.txt: %q: %v", line, err)
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

type passage struct {
	text string
	kind int
	line int
}

// splitName returns words in lower case, with blanks between them.
func splitName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		if i > 0 && upper && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) || r == '_' {
			b.WriteByte(' ')
		}
		if r != '_' {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// Fields of records keep their names.
var structTag = regexp.MustCompile("^`[a-z]+:\"")

func passagesOfGo(src []byte) []passage {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	var found []passage
	for {
		at, tok, text := s.Scan()
		line := func() int { return file.Line(at) }
		switch {
		case tok == token.EOF:
			return found
		case tok == token.IDENT:
			found = append(found, passage{splitName(text), inNames, line()})
		case tok == token.COMMENT:
			found = append(found, passage{strings.ToLower(text), inComments, line()})
		case tok == token.STRING && !structTag.MatchString(text):
			found = append(found, passage{strings.ToLower(text), inStrings, line()})
		}
	}
}

// Lines of SQL may end in a comment.
func passagesOfLines(src []byte, sql bool) []passage {
	var found []passage
	for n, text := range strings.Split(strings.ToLower(string(src)), "\n") {
		if !sql {
			found = append(found, passage{text, inTexts, n + 1})
			continue
		}
		code, comment, _ := strings.Cut(text, "--")
		found = append(found, passage{strings.ReplaceAll(code, "_", " "), inStrings, n + 1}, passage{comment, inComments, n + 1})
	}
	return found
}

// Data, quotations of old texts, and lists of the words may use any word.
func keepsOldWords(name string) bool {
	return strings.Contains(name, "testdata/") || strings.Contains(name, "/upstream/") || strings.Contains(name, "migrations/") || strings.HasPrefix(name, "python/tests/") ||
		name == "CHANGELOG.md" || name == "docs/glossary.md"
}

// One search of a long text is faster than many of short ones.
type document struct {
	texts  [kindsOfText]string
	begins [kindsOfText][]int // where each passage begins in its text
	lines  [kindsOfText][]int
}

func join(passages []passage) *document {
	var texts [kindsOfText]strings.Builder
	d := &document{}
	for _, p := range passages {
		d.begins[p.kind], d.lines[p.kind] = append(d.begins[p.kind], texts[p.kind].Len()), append(d.lines[p.kind], p.line)
		texts[p.kind].WriteString(p.text)
		texts[p.kind].WriteByte('\n')
	}
	for kind := range texts {
		d.texts[kind] = texts[kind].String()
	}
	return d
}

func (d *document) line(kind, at int) int {
	i, found := slices.BinarySearch(d.begins[kind], at)
	if !found {
		i--
	}
	return d.lines[kind][i]
}

func readPassages(t *testing.T) map[string]*document {
	t.Helper()
	out, err := exec.Command("git", "-C", "..", "ls-files").Output()
	if err != nil {
		t.Skipf("without git there is no list of files: %v", err)
	}
	found := map[string]*document{}
	for _, name := range strings.Fields(string(out)) {
		if keepsOldWords(name) {
			continue
		}
		src, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			continue // removed and not committed yet
		}
		switch path.Ext(name) {
		case ".go":
			found[name] = join(passagesOfGo(src))
		case ".sql":
			found[name] = join(passagesOfLines(src, true))
		case ".md", ".sh", ".py", ".yaml", ".yml":
			found[name] = join(passagesOfLines(src, false))
		}
		if path.Base(name) == "Makefile" {
			found[name] = join(passagesOfLines(src, false))
		}
	}
	return found
}

// Counts that have fallen must not rise again.
var lowerCounts = flag.Bool("lower", false, "write counts of forbidden words that have fallen into testdata/forbidden.txt")

func (r *wordRule) write(t *testing.T, counts [kindsOfText]int) {
	t.Helper()
	const list = "testdata/forbidden.txt"
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, r.text+" | ") {
			lines[i] = fmt.Sprintf("%s | %s | %s", r.text, r.instead, strings.Trim(fmt.Sprint(counts), "[]"))
		}
	}
	if err := os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestForbiddenWords(t *testing.T) {
	rules, files := readWordRules(t), readPassages(t)
	for _, rule := range rules {
		var counts [kindsOfText]int
		var places [kindsOfText][]string
		for name, d := range files {
			for kind, text := range d.texts {
				for _, m := range rule.find(text) {
					counts[kind]++
					places[kind] = append(places[kind], fmt.Sprintf("%s:%d: %s", name, d.line(kind, m.at), m.word))
				}
			}
		}
		for kind, what := range []string{"names", "comments", "strings", "texts"} {
			slices.SortFunc(places[kind], cmp.Compare)
			switch {
			case counts[kind] > rule.atMost[kind]:
				t.Errorf("%d %s have %s, at most %d may; say %s:\n  %s", counts[kind], what, rule.text, rule.atMost[kind], rule.instead,
					strings.Join(places[kind][:min(len(places[kind]), 30)], "\n  "))
			case counts[kind] < rule.atMost[kind]:
				t.Logf("%d %s have %s, %d may; -args -lower writes the lower number", counts[kind], what, rule.text, rule.atMost[kind])
			}
			counts[kind] = min(counts[kind], rule.atMost[kind])
		}
		if *lowerCounts {
			rule.write(t, counts)
		}
	}
}

func TestSplitName(t *testing.T) {
	for name, want := range map[string]string{"callOff": "call off", "SQLEar": "sql ear", "call_off": "call off", "HTTPGone": "http gone", "x": "x", "leaseUS": "lease us"} {
		if got := splitName(name); got != want {
			t.Errorf("splitName(%q) gives %q, want %q", name, got, want)
		}
	}
}
