package worker

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"pulley/engine/expr"
)

// The three actions of the language description's example have no effects.
func shop() []Action {
	return []Action{
		builtin("payments.charge", `{"paid": True, "total"} of an order; fails with type Declined where its total is above 100`, charge, "order"),
		builtin("stock.reserve", "True: there is enough of everything", reserve, "order"),
		builtin("mail.send", "the address to which a receipt went", send, "to", "receipt"),
	}
}

const cardLimit = 100

func charge(_ context.Context, a *values) (expr.Value, error) {
	total, err := a.field("order", a.get("order"), "total")
	if err != nil {
		return nil, err
	}
	if addable(total) != "number" {
		return nil, a.wrong("order", `a dict whose "total" is a number`, total)
	}
	tooMuch, err := starlark.Compare(syntax.GT, total, starlark.MakeInt(cardLimit))
	if err != nil {
		return nil, err
	}
	if tooMuch {
		return nil, &Error{Type: "Declined", Message: fmt.Sprintf("%v is more than the card's limit of %d", total, cardLimit)}
	}
	return record("paid", starlark.True, "total", total), nil
}

func reserve(context.Context, *values) (expr.Value, error) { return starlark.True, nil }

func send(_ context.Context, a *values) (expr.Value, error) {
	to, err := a.text("to")
	if err != nil {
		return nil, err
	}
	return starlark.String(to), nil
}
