package ir

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// Each program is written canonically, and must print as itself, with any line ends.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.ir")
	if err != nil || len(files) < 2 {
		t.Fatalf("programs are missing: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(src)
		for name, variant := range map[string]string{
			"as it is":                  text,
			"CRLF":                      strings.ReplaceAll(text, "\n", "\r\n"),
			"byte order mark":           "\ufeff" + text,
			"without the last line end": strings.TrimSuffix(text, "\n"),
		} {
			p, err := Parse(file, []byte(variant), Limits{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := Print(p); got != text {
				t.Errorf("%s, %s: prints as\n%s", file, name, got)
			}
			checkPositions(t, strings.TrimPrefix(variant, "\ufeff"), file, p)
		}
	}
}

// Positions count characters, not bytes, and lines of any kind.
func TestPositions(t *testing.T) {
	source := "fn main(input: [été], output: []): # größe\r\n" +
		"    Ω, ß = [été, \"ü\",  # ☃\r\n" +
		"        \"ö\"]\n" +
		"    @größe.über(straße=ß, x=[\n" +
		"  Ω], y=Ω) [Größe, Über -> retry: 1]\n" +
		"    parallel:\n" +
		"        @f()\n" +
		"        f(é=Ω)\n" +
		"    for ä, ö in été:\n" +
		"        while ä:\n" +
		"            if ö:\n" +
		"                sleep ä\n" +
		"            elif ä:\n" +
		"                break\n" +
		"            else:\n" +
		"                continue\n" +
		"    try:\n" +
		"        r = spread été:é limit 3 -> f(é=é)\n" +
		"    except Ä as ö:\n" +
		"        pass\n" +
		"    return Ω, (ß)\n" +
		"\n" +
		"fn f(input: [é], output: []):\n" +
		"    é\n"
	p, err := Parse("w.ir", []byte(source), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if n := checkPositions(t, source, "w.ir", p); n < 50 {
		t.Errorf("only %d positions were found", n)
	}
	_, err = Parse("w.ir", []byte("fn main(input: [], output: []):\r\n    ä = \"ö\" + [ß ü]\r\n"), Limits{})
	if want := "w.ir:2:18: found ü; write an operator or a comma before it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func checkPositions(t *testing.T, source, file string, p *Program) int {
	t.Helper()
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	starts := map[string]string{
		"Function": "fn", "For": "for", "While": "while", "If": "if", "Try": "try", "Handler": "except",
		"Return": "return", "Break": "break", "Continue": "continue", "Pass": "pass", "Sleep": "sleep",
		"Action": "@", "Spread": "spread", "Parallel": "parallel", "Retry": "[", "Arm": "",
	}
	n := 0
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
			pos, ok := v.Interface().(Pos)
			if !ok && v.FieldByName("Pos").IsValid() {
				pos = v.FieldByName("Pos").Interface().(Pos)
				if node, ok := v.Addr().Interface().(interface{ Position() Pos }); ok && node.Position() != pos {
					t.Errorf("the position of %s is %v, not %v", v.Type().Name(), node.Position(), pos)
				}
				want := starts[v.Type().Name()]
				switch x := v.Interface().(type) {
				case Name:
					want = x.Text
				case Call:
					want = x.Name + "("
				case Arm:
					want = map[bool]string{true: "if", false: "elif"}[strings.HasPrefix(here(lines, pos), "if")]
				case Assign:
					if len(x.Targets) > 0 {
						want = x.Targets[0].Text
					}
				case Expr:
					first, _ := utf8.DecodeRuneInString(x.Text)
					want = string(first)
				}
				n++
				if got := here(lines, pos); pos.File != file || !strings.HasPrefix(strings.TrimLeft(got, "("), want) {
					t.Errorf("%s of %s has the position %v, where %q stands", want, v.Type().Name(), pos, got)
				}
			}
		}
	}
	walk(reflect.ValueOf(p).Elem().FieldByName("Functions"))
	return n
}

func here(lines []string, pos Pos) string {
	if pos.Line < 1 || pos.Line > len(lines) {
		return ""
	}
	line := lines[pos.Line-1]
	for range pos.Col - 1 {
		_, n := utf8.DecodeRuneInString(line)
		line = line[n:]
	}
	return line
}

func BenchmarkParse(b *testing.B) {
	source, err := os.ReadFile("testdata/programs/orders.ir")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := Parse("orders.ir", source, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
