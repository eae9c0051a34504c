package ir

import (
	"strings"
	"testing"
)

// Each program must be accepted, print as expected, and read back from the print as the same program.
func TestAccepted(t *testing.T) {
	golden(t, "testdata/accepted.txt", func(t *testing.T, source string) string {
		p, err := Parse("w.ir", []byte(source), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		text := Print(p)
		again, err := Parse("again.ir", []byte(text), Limits{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !Equal(p, again) {
			t.Errorf("the print is read as another program:\n%s", text)
		}
		if twice := Print(again); twice != text {
			t.Errorf("prints as\n%s\nand then as\n%s", text, twice)
		}
		return strings.TrimSuffix(text, "\n")
	})
}
