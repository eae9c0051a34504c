package lines_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pulley/internal/lines"
)

func TestReadLine(t *testing.T) {
	t.Parallel()
	const most = 32 // more than the least buffer of bufio
	exact, long := strings.Repeat("e", most-1), strings.Repeat("l", 5*most)
	for text, want := range map[string]string{
		"":                              "EOF",
		"a\n\nb":                        `"a" "" "b" EOF`,
		exact + "\n" + exact + "e\nx\n": fmt.Sprintf("%q too long %q %q EOF", exact, exact+"e", "x"),
		long + "\nx\n":                  fmt.Sprintf("too long %q %q EOF", long[:most], "x"),
		long:                            fmt.Sprintf("too long %q EOF", long[:most]),
		strings.Repeat(long, 20) + "\n": fmt.Sprintf("too long %q it wrote a line without an end", long[:most]),
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
			if got := readAll(lines.NewReader(in, most)); got != want {
				t.Errorf("%.20q (%s): read %s, want %s", text, name, got, want)
			}
		}
	}
}

func readAll(r *lines.Reader) string {
	var all []string
	for {
		line, tooLong, err := r.ReadLine()
		if tooLong {
			all = append(all, "too long")
		}
		if err == nil || len(line) > 0 {
			all = append(all, fmt.Sprintf("%q", line))
		}
		if errors.Is(err, io.EOF) {
			return strings.Join(append(all, "EOF"), " ")
		}
		if err != nil {
			return strings.Join(append(all, err.Error()), " ")
		}
	}
}
