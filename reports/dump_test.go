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
	if from := os.Getenv("FROM"); from != "" {
		p, err := reports.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := os.Create(dir + "/real.html")
		if err := p.WriteHTML(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		return
	}
	for _, name := range []string{"full", "empty", "hostile", "differences", "zeros"} {
		s, m := situations()[name]()
		f, _ := os.Create(dir + "/" + name + ".html")
		_ = reports.WriteHTML(f, s, m)
		f.Close()
	}
}
