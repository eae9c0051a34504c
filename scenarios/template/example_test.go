package template_test

import (
	"fmt"

	"pulley/engine/expr"
	"pulley/internal/yamlfile"
	"pulley/scenarios/template"
)

// A file gives the input of a workload, with expressions where the input depends on the size. A mistake has its place.
func ExampleCompile() {
	var report yamlfile.Report
	value := yamlfile.Parse("load.yaml", []byte("{kind: plain, orders: '= [n + 1 for n in range(size)]'}"), &report)
	input := template.Compile(value, []string{"size"}, &report)
	if err := report.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range []int{1, 3} {
		size, err := expr.FromGo(n)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(input.Eval(template.Env{"size": size}))
	}
	wrong := yamlfile.Parse("load.yaml", []byte("orders: '= sizes - 2'"), &report)
	fmt.Println(template.Compile(wrong, []string{"size"}, &report), report.Err())
	// Output:
	// {"kind": "plain", "orders": [1]} <nil>
	// {"kind": "plain", "orders": [1, 2, 3]} <nil>
	// <nil> load.yaml:1:9: the expression reads sizes, which is not known here; did you mean size?
}
