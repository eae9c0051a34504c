package page_test

import (
	"bytes"
	"fmt"
	"os"

	"pulley/reports/page"
	"pulley/reports/units"
)

// A page is laid out once. It becomes Markdown for a pull request, and HTML that carries the record it was made from.
func ExamplePage() {
	rate := 1200.0
	p := page.Page{
		Kind: "bench", Answer: "push does 1,200 node runs per second.", State: page.State{Text: "valid", Mark: page.Good}, Repeat: "pulley bench chain --rate 100",
		First: []page.Block{{Table: &page.Table{
			Heads: []page.Head{{Name: "backend", Words: true}, {Name: "rate", Unit: "/s"}},
			Rows:  []page.Row{{Cells: []page.Cell{page.Words("push"), page.Figure(&rate, units.Number, "[1,100 to 1,300]")}}},
		}}},
		Record: []page.File{{Name: "load.json", Data: []byte("{}")}},
	}
	if err := p.WriteMarkdown(os.Stdout); err != nil {
		fmt.Println(err)
	}
	var html bytes.Buffer
	if err := p.WriteHTML(&html); err != nil {
		fmt.Println(err)
	}
	files, err := page.Extract(html.Bytes())
	fmt.Printf("\n%s: %s, %v\n", files[0].Name, files[0].Data, err)
	// Output:
	// # push does 1,200 node runs per second.
	//
	// ✓ **valid**
	//
	// pulley bench
	//
	// | backend | rate, /s |
	// | :-- | --: |
	// | push | 1,200 \[1,100 to 1,300\] |
	//
	// ## Repeat this
	//
	// ```
	// pulley bench chain --rate 100
	// ```
	//
	// load.json: {}, <nil>
}
