package reports_test

import (
	"os"
	"testing"

	"pulley/reports"
)

func TestDump(t *testing.T) {
	dir := os.Getenv("DUMP")
	if dir == "" {
		t.Skip()
	}
	for _, name := range []string{"full", "empty", "hostile", "differences", "zeros"} {
		s, m := situations()[name]()
		f, _ := os.Create(dir + "/" + name + ".html")
		_ = reports.WriteHTML(f, s, m)
		f.Close()
	}
}
