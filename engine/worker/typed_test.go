package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

type order struct {
	ID     string            `json:"id"`
	Cents  int64             `json:"cents"`
	Labels map[string]string `json:"labels,omitempty"`
}

type receipt struct {
	Order string    `json:"order"`
	At    time.Time `json:"at"`
	Paid  bool      `json:"paid"`
}

func chargeOrder(_ context.Context, o order) (receipt, error) {
	switch {
	case o.Cents < 0:
		return receipt{}, &Error{Type: "Declined", Message: "nothing to pay for " + o.ID}
	case o.ID == "":
		return receipt{}, errors.New("no order")
	case o.ID == "panic":
		panic("boom")
	}
	return receipt{Order: o.ID + o.Labels["suffix"], At: time.Unix(0, 0).UTC(), Paid: true}, nil
}

func TestTypedActions(t *testing.T) {
	r := builtins(t)
	for _, err := range []error{
		Register(r, "pay.charge", chargeOrder),
		Register(r, "pay.nothing", func(context.Context, struct{}) (any, error) { return nil, nil }),
		Register(r, "pay.list", func(_ context.Context, a struct{ Of []float64 }) ([]float64, error) { return a.Of, nil }),
		Register(r, "pay.channel", func(context.Context, struct{}) (chan int, error) { return make(chan int), nil }),
		Register(r, "pay.key", func(ctx context.Context, _ struct{}) (int, error) {
			call, ok := CallOf(ctx)
			if !ok {
				return 0, errors.New("no call")
			}
			return call.Attempt, nil
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ action, args, want string }{
		{"pay.charge", `{"id": "a", "cents": 3}`, `{"order":"a","at":"1970-01-01T00:00:00Z","paid":true}`},
		{"pay.charge", `{"id": "a", "cents": 3, "labels": {"suffix": "b"}}`, `{"order":"ab","at":"1970-01-01T00:00:00Z","paid":true}`},
		{"pay.charge", `{"id": "a", "cents": -1}`, "Declined: nothing to pay for a"},
		{"pay.charge", `{"id": "", "cents": 1}`, "Error: no order"},
		{"pay.charge", `{"id": "panic", "cents": 1}`, "Panic: action pay.charge panicked: boom"},
		{"pay.charge", `{"id": "a"}`, "ArgumentError: action pay.charge: argument cents is missing"},
		{"pay.charge", `{"id": "a", "cents": "3"}`, "ArgumentError: action pay.charge: argument cents must be a int64, not a string"},
		{"pay.charge", `{"id": "a", "cents": 1.5}`, "ArgumentError: action pay.charge: argument cents must be a int64, not a number 1.5"},
		{"pay.charge", `{"id": "a", "cents": 3, "cent": 4}`, "ArgumentError: action pay.charge: unknown argument cent; it takes id, cents, labels"},
		{"pay.nothing", `{}`, "null"},
		{"pay.nothing", `{"x": 1}`, "ArgumentError: action pay.nothing: unknown argument x; it takes none"},
		{"pay.list", `{"Of": [1, 2.5]}`, "[1.0,2.5]"},
		{"pay.channel", `{}`, "ResultError: action pay.channel: its result cannot be JSON"},
		{"pay.key", `{}`, "1"},
	} {
		if got := show(r.Execute(t.Context(), task(c.action, c.args))); got != c.want && !(strings.HasPrefix(c.want, "ResultError") && strings.HasPrefix(got, c.want)) {
			t.Errorf("@%s(%s) gives %s, want %s", c.action, c.args, got, c.want)
		}
	}
	for _, a := range r.Describe() {
		if a.Name == "pay.list" && !slices.Equal(a.Args, []string{"Of"}) || a.Name == "pay.charge" && a.Args != nil {
			t.Errorf("@%s is said to take exactly %q", a.Name, a.Args)
		}
	}
	if _, ok := CallOf(t.Context()); ok {
		t.Error("a context of no action has a call")
	}
}

func TestTypedActionsThatCannotBe(t *testing.T) {
	r := builtins(t)
	for want, err := range map[string]error{
		"worker: action a: its arguments must be a struct, whose fields are their names, not a int":           Register(r, "a", func(context.Context, int) (int, error) { return 0, nil }),
		"worker: action a: its arguments must be a struct, whose fields are their names, not a *worker.order": Register(r, "a", func(context.Context, *order) (int, error) { return 0, nil }),
		"worker: action a has no function":          Register[struct{}, int](r, "a", nil),
		"worker: action echo is registered already": Register(r, "echo", func(context.Context, struct{}) (int, error) { return 0, nil }),
	} {
		if fmt.Sprint(err) != want {
			t.Errorf("Register gives %v, want %s", err, want)
		}
	}
	if got := firstTwice([]string{"id", "name", "id"}); got != "id" { // go vet refuses such a struct
		t.Errorf("the name that stands twice is %q, want id", got)
	}
}

func ExampleRegister() {
	type Order struct {
		ID    string `json:"id"`
		Cents int    `json:"cents"`
	}
	reg, _ := NewRegistry()
	err := Register(reg, "charge", func(_ context.Context, order Order) (string, error) {
		if order.Cents > 100_00 {
			return "", &Error{Type: "Declined", Message: "the card's limit is 100.00"}
		}
		return "receipt of " + order.ID, nil
	})
	if err != nil {
		panic(err)
	}
	for _, args := range []string{`{"id": "a7", "cents": 250}`, `{"id": "a8", "cents": 25000}`} {
		result, failure := reg.Execute(context.Background(), task("charge", args))
		fmt.Println(string(result), failure)
	}
	// Output:
	// "receipt of a7" <nil>
	//  Declined: the card's limit is 100.00 (@charge)
}
