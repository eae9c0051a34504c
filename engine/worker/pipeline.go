package worker

import (
	"context"
	"fmt"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"pulley/engine/expr"
)

// pipeline returns the five actions of the data pipeline: fetch, process each item, validate and aggregate chunks of them in a
// loop, and sum up.
func pipeline() []Action {
	return []Action{
		builtin("fetch_items", `the list of {"id": i, "value": "item_i"} for i from 0 to count - 1`, fetchItems, "count"),
		builtin("process_item", `{"id", "hash": "hash_id", "score": id * 10} of an item`, processItem, "item"),
		builtin("validate_chunk", "whether every item has a score above 0", validateChunk, "chunk_id", "items"),
		builtin("aggregate_chunk", `{"chunk_id", "total", "digest": "chunk_id"}, where total is the sum of the scores, or 0 if not is_valid`, aggregateChunk, "chunk_id", "items", "is_valid"),
		builtin("finalize", "the sum of the results' totals", finalize, "results"),
	}
}

// record takes alternating keys and values.
func record(pairs ...any) *starlark.Dict {
	d := starlark.NewDict(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		_ = d.SetKey(starlark.String(pairs[i].(string)), pairs[i+1].(starlark.Value)) // a new dict accepts every string
	}
	return d
}

func fetchItems(_ context.Context, a *values) (expr.Value, error) {
	n, err := a.count("count", 0, int64(a.call.valueBytes/24)) // an item takes at least 24 bytes
	if err != nil {
		return nil, err
	}
	list := make([]expr.Value, n)
	for i := range list {
		list[i] = record("id", starlark.MakeInt(i), "value", starlark.String("item_"+strconv.Itoa(i)))
	}
	return starlark.NewList(list), nil
}

func processItem(_ context.Context, a *values) (expr.Value, error) {
	id, err := a.field("item", a.get("item"), "id")
	if err != nil {
		return nil, err
	}
	n, ok := id.(starlark.Int)
	if !ok {
		return nil, a.wrong("item", `a dict whose "id" is an int`, id)
	}
	return record("id", n, "hash", starlark.String("hash_"+n.String()), "score", n.Mul(starlark.MakeInt(10))), nil
}

func validateChunk(_ context.Context, a *values) (expr.Value, error) {
	scores, err := a.numbers("items", "score")
	if err != nil {
		return nil, err
	}
	if _, err := a.chunk(); err != nil {
		return nil, err
	}
	for _, score := range scores {
		above, err := starlark.Compare(syntax.GT, score, starlark.MakeInt(0))
		if err != nil || !above {
			return starlark.False, err
		}
	}
	return starlark.True, nil
}

func aggregateChunk(_ context.Context, a *values) (expr.Value, error) {
	id, err := a.chunk()
	if err != nil {
		return nil, err
	}
	valid, ok := a.get("is_valid").(starlark.Bool)
	if !ok {
		return nil, a.wrong("is_valid", "a bool", a.get("is_valid"))
	}
	scores, err := a.numbers("items", "score")
	if err != nil {
		return nil, err
	}
	if !valid {
		scores = nil
	}
	total, err := totalOf(scores)
	if err != nil {
		return nil, err
	}
	return record("chunk_id", id, "total", total, "digest", starlark.String("chunk_"+id.String())), nil
}

func finalize(_ context.Context, a *values) (expr.Value, error) {
	totals, err := a.numbers("results", "total")
	if err != nil {
		return nil, err
	}
	return totalOf(totals)
}

func totalOf(numbers []expr.Value) (total expr.Value, err error) {
	total = starlark.MakeInt(0)
	for _, n := range numbers {
		if total, err = starlark.Binary(syntax.PLUS, total, n); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func (a *values) chunk() (starlark.Int, error) {
	id, ok := a.get("chunk_id").(starlark.Int)
	if !ok {
		return id, a.wrong("chunk_id", "an int", a.get("chunk_id"))
	}
	return id, nil
}

func (a *values) numbers(name, field string) ([]expr.Value, error) {
	list, err := a.list(name)
	if err != nil {
		return nil, err
	}
	numbers := make([]expr.Value, list.Len())
	for i := range numbers {
		at := fmt.Sprintf("%s[%d]", name, i)
		v, err := a.field(at, list.Index(i), field)
		if err != nil {
			return nil, err
		}
		if addable(v) != "number" {
			return nil, a.wrong(at, fmt.Sprintf("a dict whose %q is a number", field), v)
		}
		numbers[i] = v
	}
	return numbers, nil
}

func (a *values) field(name string, v expr.Value, key string) (expr.Value, error) {
	dict, ok := v.(*starlark.Dict)
	if !ok {
		return nil, a.wrong(name, "a dict", v)
	}
	found, ok, err := dict.Get(starlark.String(key))
	if err != nil || !ok {
		return nil, a.call.argument("argument %s has no %q", name, key)
	}
	return found, nil
}
