package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A block is a fenced block of a page with the comments above it. Where the block's language does not decide how the block is
// checked, comments do:
//
//	```console            the lines after "$ " run in a shell, in the page's directory, and their output is compared.
//	                      "> " continues the command. A command that ends with another status than 0 is followed by
//	                      "$ echo $?". "…" stands for any text in its line; in a line of its own, for any lines.
//	```sh                 every line runs, and must end with status 0; nothing is compared
//	```python             beginning with "fn" or a comment above one: a program of the workflow language, which must compile
//	```yaml, ```json      must parse
//	```mermaid            is not checked
//	<!-- file: NAME -->   writes the block into the page's directory, for the blocks below
//	<!-- part of: FILE -->    the block stands in that file of the repository, which others test; its indentation may differ
//	<!-- figures vary -->     figures, with their units, and the spaces between columns are not compared
//	<!-- nightly -->      the block runs where PULLEY_TEST_DEPTH is night
//	<!-- not run: WHY -->     the block cannot run here
type block struct {
	page     string // from the root of the repository
	line     int
	language string
	text     string
	marks    map[string]string // the value may be empty
}

// marks tells whether a mark has a value.
var marks = map[string]bool{"file": true, "part of": true, "figures vary": false, "nightly": false, "not run": true}

const (
	kindRun     = "run"     // commands whose output is compared
	kindScript  = "script"  // commands that must succeed
	kindProgram = "program" // of the workflow language
	kindFile    = "file"    // for the blocks below
	kindPart    = "part"    // of a file that is tested elsewhere
	kindData    = "data"    // YAML or JSON
	kindDrawing = "drawing"
	kindNotRun  = "not run"
)

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

func (b block) has(mark string) bool {
	_, ok := b.marks[mark]
	return ok
}

func (b block) kind() (string, error) {
	for mark, value := range b.marks {
		wants, known := marks[mark]
		switch {
		case !known:
			return "", fmt.Errorf("%s: there is no mark %q", b, mark)
		case wants != (value != ""):
			return "", fmt.Errorf("%s: %q has a value, or lacks one", b, mark)
		}
	}
	program := regexp.MustCompile(`(?m)^fn \w+\(`).MatchString(b.text)
	switch {
	case b.has("not run"):
		return kindNotRun, nil
	case b.has("part of"):
		return kindPart, nil
	case b.language == "python" && program:
		return kindProgram, nil
	case b.has("file"):
		return kindFile, nil
	case b.language == "console":
		return kindRun, nil
	case b.language == "sh":
		return kindScript, nil
	case b.language == "yaml" || b.language == "json":
		return kindData, nil
	case b.language == "mermaid":
		return kindDrawing, nil
	}
	return "", fmt.Errorf("%s: nothing checks this block of %q; give it a language, or say in a comment above it what it is", b, b.language)
}

func blocksOf(page, text string) ([]block, error) {
	comment := regexp.MustCompile(`^<!-- ([a-z ]+?)(?:: (.*))? -->$`)
	var blocks []block
	var open *block
	said := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && line == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			open = &block{page: page, line: i + 1, language: line[len("```"):], marks: said}
			said = map[string]string{}
		case comment.MatchString(line):
			m := comment.FindStringSubmatch(line)
			said[m[1]] = m[2]
		case strings.Contains(line, "```"):
			return nil, fmt.Errorf("%s:%d: a fence inside a line", page, i+1)
		case line != "":
			said = map[string]string{}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the fence has no end", open)
	}
	return blocks, nil
}

type step struct {
	line    int
	command string
	want    string
}

func (b block) steps() ([]step, error) {
	var steps []step
	for i, line := range strings.SplitAfter(b.text, "\n") {
		last := len(steps) - 1
		switch {
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: b.line + 1 + i, command: line[2:]})
		case line == "":
		case last < 0:
			return nil, fmt.Errorf("%s: output comes before the first command", b)
		case strings.HasPrefix(line, "> ") && steps[last].want == "":
			steps[last].command += line[2:]
		default:
			steps[last].want += line
		}
	}
	return steps, nil
}

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?( UTC)?)?`)
	figures = regexp.MustCompile(`[-+−]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?( ?(ns|µs|ms|s|m|h|B|kB|MB|MiB|KiB|%|×)\b|[%×])?(\d+(\.\d+)?s)?`)
	spaces  = regexp.MustCompile(` +`)
	bars    = regexp.MustCompile(`[▁▂▃▄▅▆▇█]+`)
)

// steady replaces what differs from run to run: ids and moments always, figures where the block varies them.
func steady(text string, figuresVary bool) string {
	text = uuids.ReplaceAllString(text, "<id>")
	text = moments.ReplaceAllString(text, "<moment>")
	if figuresVary {
		text = bars.ReplaceAllString(text, "<bars>")
		text = figures.ReplaceAllString(text, "#")
		text = strings.ReplaceAll(text, "<#", "#") // "<0.01" and "0.02" are figures alike
		text = spaces.ReplaceAllString(text, " ")
	}
	return text
}

func agrees(shown, got string, figuresVary bool) bool {
	shown, got = steady(shown, figuresVary), steady(got, figuresVary)
	var pattern strings.Builder
	for _, line := range strings.SplitAfter(shown, "\n") {
		switch strings.TrimSpace(line) {
		case "…":
			pattern.WriteString(`(?:.*\n)*?`)
		default:
			pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `.*?`))
		}
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got)
}

func TestBlocksOfAPage(t *testing.T) {
	const page = "Text.\n\n<!-- file: a.ir -->\n```python\nfn main(input: [], output: [x]):\n    x = 1\n```\nText.\n" +
		"```console\n$ one\n> two\nout\n$ three\n```\n<!-- not run: it is of a server -->\n\n```\nx\n```\n```\ny\n```\n"
	blocks, err := blocksOf("p.md", page)
	if err != nil || len(blocks) != 4 {
		t.Fatalf("%v %v", blocks, err)
	}
	for i, want := range []string{kindProgram, kindRun, kindNotRun, ""} {
		if got, err := blocks[i].kind(); got != want || (want == "") != (err != nil) {
			t.Errorf("block %d is %q, %v; want %q", i, got, err, want)
		}
	}
	if blocks[0].marks["file"] != "a.ir" || blocks[2].marks["not run"] != "it is of a server" {
		t.Errorf("marks: %v", blocks)
	}
	steps, err := blocks[1].steps()
	if err != nil || len(steps) != 2 || steps[0] != (step{line: 10, command: "one\ntwo\n", want: "out\n"}) || steps[1].command != "three\n" || steps[1].want != "" {
		t.Errorf("%+v %v", steps, err)
	}
	for _, wrong := range []string{"```sh\nx\n", "a ``` b\n", "<!-- nightly: x -->\n```sh\nx\n```\n", "<!-- not run -->\n```\nx\n```\n", "<!-- soon -->\n```sh\nx\n```\n"} {
		blocks, err := blocksOf("p.md", wrong)
		if err == nil && len(blocks) == 1 {
			_, err = blocks[0].kind()
		}
		if err == nil {
			t.Errorf("%q passes", wrong)
		}
	}
}

func TestShownAgreesWithPrinted(t *testing.T) {
	for _, c := range []struct {
		shown, got   string
		vary, agrees bool
	}{
		{"a 1\n", "a 1\n", false, true},
		{"a 1\n", "a 2\n", false, false},
		{"a 1\n", "a 2\n", true, true},
		{"a  1.5 ms [3, 4]\n", "a 712 µs [1,003, 4.5]\n", true, true},
		{"a 1\n", "b 2\n", true, false},
		{"a 1\n", "a 1\nb\n", false, false},
		{"a\n…\n", "a\nb\nc\n", false, true},
		{"a\n…\nc\n", "a\nc\n", false, true},
		{"a\n…\nc\n", "a\nb\n", false, false},
		{"a … c\n", "a b c\n", false, true},
		{"a … c\n", "a b\nc\n", false, false},
		{"", "a\n", false, false},
		{"id 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6\n", "id 02a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6\n", false, true},
		{"at 2026-11-22 04:02:22 UTC\n", "at 2027-01-02 03:04:05 UTC\n", false, true},
		{"push 3\n", "pull 3\n", true, false},
	} {
		if got := agrees(c.shown, c.got, c.vary); got != c.agrees {
			t.Errorf("%q beside %q, figures vary: %t: agrees is %t", c.shown, c.got, c.vary, got)
		}
	}
}

type example struct {
	line         int
	expr         string
	gives, fails string
}

func examplesOf(text string) []example {
	row := regexp.MustCompile("^\\| `(.*)` \\| (fails: )?`(.*)` \\|$")
	var found []example
	inside := false
	for i, line := range strings.Split(text, "\n") {
		m := row.FindStringSubmatch(line)
		switch {
		case line == "| expression | gives |":
			inside = true
		case inside && m != nil && m[2] != "":
			found = append(found, example{line: i + 1, expr: m[1], fails: m[3]})
		case inside && m != nil:
			found = append(found, example{line: i + 1, expr: m[1], gives: m[3]})
		case inside && !strings.HasPrefix(line, "|"):
			inside = false
		}
	}
	return found
}
