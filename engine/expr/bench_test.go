package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

const order = `{"id":"o-1234","customer":{"name":"Ada","email":"ada@example.org"},` +
	`"total":129.5,"items":[{"sku":"a-1","count":2},{"sku":"b-7","count":1}],"paid":false,"note":null}`

func BenchmarkEval(b *testing.B) {
	orders := mustDecode(b, "["+strings.Repeat(order+",", 99)+order+"]")
	args := map[string]expr.Value{
		"i": starlark.MakeInt(7), "n": starlark.MakeInt(32), "size": starlark.MakeInt(8),
		"order": mustDecode(b, order), "xs": mustDecode(b, "[1,2,3,4,5,6,7,8]"), "r": starlark.MakeInt(1),
		"orders": orders,
	}
	for _, text := range []string{
		`order`, `17`, `i < 32`, `i < n`, `i + 1`, `(i + 1) * size`, `order["total"] == 0`, `xs + [r]`,
		`len(xs) // size`, `xs[i * 2:(i + 1) * 2]`, `{"paid": False, "why": order["note"]}`, `order.get("id")`,
		`[o["id"] for o in orders if o["total"] > 100]`, `sorted(xs, reverse=True)`,
	} {
		c, err := expr.Compile(&ir.Expr{Text: text}, ir.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		values := make([]expr.Value, len(c.Names()))
		for i, name := range c.Names() {
			values[i] = args[name]
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Eval(values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	e := &ir.Expr{Text: `processed[chunk_id * size:(chunk_id + 1) * size]`}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Compile(e, ir.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func documents() map[string]string {
	var ints []string
	for i := range 1000 {
		ints = append(ints, fmt.Sprint(i*i))
	}
	return map[string]string{
		"int":    `17`,
		"order":  order,
		"orders": "[" + strings.Repeat(order+",", 99) + order + "]",
		"ints":   "[" + strings.Join(ints, ",") + "]",
		"text":   `"` + strings.Repeat("the quick brown fox ", 500) + `"`,
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range documents() {
		b.Run(name, func(b *testing.B) {
			data := []byte(text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := expr.Decode(data, ir.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, text := range documents() {
		b.Run(name, func(b *testing.B) {
			v := mustDecode(b, text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = expr.AppendJSON(buf[:0], v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNormalize(b *testing.B) {
	v := mustDecode(b, documents()["orders"])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Normalize(v, ir.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func mustDecode(t testing.TB, text string) expr.Value {
	t.Helper()
	v, err := expr.Decode([]byte(text), ir.Limits{})
	if err != nil {
		t.Fatalf("Decode(%s): %v", text, err)
	}
	return v
}
