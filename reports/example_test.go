package reports_test

import (
	"fmt"
	"os"
	"path/filepath"

	"pulley/reports"
	"pulley/reports/record"
)

// A folder that a command wrote becomes a page, whatever the command was.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "chaos-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := record.WriteChaos(dir, &record.Chaos{Verdict: "pass", Backend: "push", Engines: 2, Instances: 40, Faults: map[string]int{"process.kill": 3}}); err != nil {
		fmt.Println(err)
		return
	}
	page, err := reports.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Kind+":", page.Answer)
	fmt.Println(page.State.Mark.Sign(), page.State.Text)
	path, err := reports.Write("chaos", dir)
	fmt.Println(filepath.Base(path), err)
	// Output:
	// chaos: push lost nothing and applied each completion once: 40 instances, after 3 faults on 2 engines.
	// ✓ pass: the history keeps every invariant
	// report.html <nil>
}
