package expr_test

import (
	"fmt"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

func ExampleCompile() {
	e := &ir.Expr{Pos: ir.Pos{File: "orders.ir", Line: 7, Col: 9}, Text: `[o["id"] for o in orders if o["total"] > least]`}
	c, err := expr.Compile(e, ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	orders, err := expr.Decode([]byte(`[{"id": "a", "total": 12.5}, {"id": "b", "total": 3}]`), ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	least, err := expr.FromGo(10)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Names())
	fmt.Println(c.Eval([]expr.Value{least, orders}))
	fmt.Println(c.Eval([]expr.Value{least, nil}))
	// Output:
	// [least orders]
	// ["a"] <nil>
	// <nil> orders.ir:7:9: orders has no value here
}

func ExampleEncode() {
	v, err := expr.FromGo(map[string]any{"total": 100.0, "count": 3, "name": "<Ada>"})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := expr.Encode(v)
	fmt.Println(string(data), err)
	// Output: {"count":3,"name":"<Ada>","total":100.0} <nil>
}
