package behaviour

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/internal/pause"
	"pulley/scenarios/dist"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

// StepName is the action that returns a number made of any arguments.
const StepName = "step"

// Description describes an action. Zero fields have the stated meaning.
type Description struct {
	Name    string             // the action's; a built-in one keeps its results
	Service *dist.Law          // durations; nil: an attempt takes no additional time
	Fails   []Failure          // shares add up to at most 1; none: no random failures
	Gives   *template.Template // of the arguments; nil: a number made of the arguments. Nil for a built-in action
	Payload *dist.Law          // bytes of the result as JSON; nil: unpadded. Nil for a built-in action
}

// Failure is the end of a share of all attempts.
type Failure struct {
	Share   float64 // of all attempts, above 0, at most 1
	Type    string
	Message string
}

// Actions are the actions of a scenario's programs. They are safe for concurrent use.
type Actions struct {
	seed           uint64
	described      map[string]Description
	timed, instant *worker.Registry
}

// New makes actions of distinct descriptions; their draws depend on the seed.
func New(seed uint64, described ...Description) (*Actions, error) {
	a := &Actions{seed: seed, described: map[string]Description{}}
	for _, d := range described {
		if _, twice := a.described[d.Name]; twice {
			return nil, fmt.Errorf("action %s is described twice", d.Name)
		}
		a.described[d.Name] = d
	}
	var err error
	if a.timed, err = a.registry(true); err != nil {
		return nil, err
	}
	a.instant, err = a.registry(false)
	return a, err
}

// Plain returns the actions without any description.
var Plain = sync.OnceValue(func() *Actions {
	a, err := New(0)
	if err != nil {
		panic(err) // built-in actions have different names
	}
	return a
})

// Of returns a user's own actions, which take their real time.
func Of(own *worker.Registry) *Actions {
	return &Actions{described: map[string]Description{}, timed: own, instant: own}
}

// Timed are the actions as engines run them.
func (a *Actions) Timed() *worker.Registry { return a.timed }

// Instant are the actions without their durations: the same results and failures at once.
func (a *Actions) Instant() *worker.Registry { return a.instant }

// Service returns the duration of attempts at an action; nil if they take no additional time.
func (a *Actions) Service(action string) *dist.Law { return a.described[action].Service }

// Described returns an action's description.
func (a *Actions) Described(action string) (Description, bool) {
	d, ok := a.described[action]
	return d, ok
}

// Builtin reports whether an action exists without a description.
func Builtin(name string) bool {
	return slices.Contains(builtinNames(), name)
}

var builtinNames = sync.OnceValue(func() []string {
	var names []string
	for _, b := range builtins(true) {
		names = append(names, b.Name)
	}
	return names
})

// BuiltinNames are the sorted actions that exist without a description. The caller owns the slice.
func BuiltinNames() []string { return slices.Sorted(slices.Values(builtinNames())) }

func (a *Actions) registry(timed bool) (*worker.Registry, error) {
	var all []worker.Action
	known := map[string]bool{}
	for _, b := range builtins(timed) {
		known[b.Name] = true
		if d, ok := a.described[b.Name]; ok {
			b = a.behave(b, d, timed)
		}
		all = append(all, b)
	}
	for name, d := range a.described {
		if !known[name] {
			own := worker.Action{Name: name, Doc: "described by the scenario", Run: a.give(d)}
			all = append(all, a.behave(own, d, timed))
		}
	}
	return worker.NewRegistry(all...)
}

func builtins(timed bool) []worker.Action {
	list := append(worker.Builtins(), worker.Action{
		Name: wfformat.ActionTask, Args: []string{"id", "seconds", "inputs"},
		Doc: "a task of a trace: waits and gives a value made of its inputs'",
		Run: func(ctx context.Context, call worker.Call) (any, error) { return task(ctx, call, timed) },
	}, worker.Action{
		Name: StepName, Doc: "gives a number made of its arguments, whatever they are",
		Run: func(_ context.Context, call worker.Call) (any, error) {
			canonical, err := canonicalArgs(call)
			return digest(call.Action, canonical), err
		},
	})
	if timed {
		return list
	}
	for i, b := range list {
		if b.Name == "sleep" {
			list[i].Run = notAsleep(b.Run)
		}
	}
	return list
}

// task takes as long as the trace's task, scaled. Its value lets the end result show whether every edge was honoured.
func task(ctx context.Context, call worker.Call, timed bool) (any, error) {
	t, err := wfformat.ParseTask(call.Args)
	if err != nil {
		return nil, &worker.Error{Type: worker.TypeArgument, Message: err.Error()}
	}
	if timed {
		if err := pause.For(ctx, t.Wait()); err != nil {
			return nil, err
		}
	}
	return t.Value(), nil
}

var errNotAsleep = errors.New("nothing sleeps here")

// notAsleep makes a sleeping action check its arguments and return at once.
func notAsleep(run worker.Func) worker.Func {
	return func(ctx context.Context, call worker.Call) (any, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errNotAsleep)
		value, err := run(ctx, call)
		if errors.Is(err, errNotAsleep) {
			return nil, nil
		}
		return value, err
	}
}

func (a *Actions) behave(b worker.Action, d Description, timed bool) worker.Action {
	run := b.Run
	b.Run = func(ctx context.Context, call worker.Call) (any, error) {
		if timed && d.Service != nil {
			if err := pause.For(ctx, time.Duration(d.Service.Draw(attemptKey(call).Rand(a.seed)))); err != nil {
				return nil, err
			}
		}
		if err := a.fail(d, call); err != nil {
			return nil, err
		}
		return run(ctx, call)
	}
	return b
}

func attemptKey(call worker.Call) dist.Key {
	return dist.NewKey().Text("service").Bytes(call.Instance[:]).Text(call.Node).Text(string(call.Path)).Number(call.Attempt)
}

func (a *Actions) fail(d Description, call worker.Call) error {
	if len(d.Fails) == 0 {
		return nil
	}
	canonical, err := canonicalArgs(call)
	if err != nil {
		return err
	}
	u := dist.NewKey().Text("fails").Text(call.Action).Text(canonical).Number(call.Attempt).Rand(a.seed).Float64()
	for _, f := range d.Fails {
		if u < f.Share {
			return &worker.Error{Type: f.Type, Message: f.Message}
		}
		u -= f.Share
	}
	return nil
}

// canonicalArgs are independent of the order of keys and of a database's number format, which must not change what is drawn.
func canonicalArgs(call worker.Call) (string, error) {
	v, err := decodeArgs(call)
	if err != nil {
		return "", err
	}
	return reference.Canonical(v), nil
}

func decodeArgs(call worker.Call) (expr.Value, error) {
	v, err := expr.Decode(call.Args, expr.Unlimited)
	if err != nil {
		return nil, &worker.Error{Type: worker.TypeArgument, Message: fmt.Sprintf("action %s: the arguments cannot be read: %v", call.Action, err)}
	}
	return v, nil
}

// digestPrime bounds digests, as for the tasks of traces: every JSON reader holds the values exactly.
const digestPrime = 1<<31 - 1

// digest makes a number of an action's name and arguments, so that a wrong argument shows in the result.
func digest(action, canonical string) expr.Value {
	return starlark.MakeUint64(dist.NewKey().Text(action).Text(canonical).Sum() % digestPrime)
}

func (a *Actions) give(d Description) worker.Func {
	return func(_ context.Context, call worker.Call) (any, error) {
		args, err := decodeArgs(call)
		if err != nil {
			return nil, err
		}
		canonical := reference.Canonical(args)
		result := digest(d.Name, canonical)
		if d.Gives != nil {
			if result, err = evaluate(d, args); err != nil {
				return nil, err
			}
		}
		if d.Payload == nil {
			return result, nil
		}
		r := dist.NewKey().Text("payload").Text(d.Name).Text(canonical).Rand(a.seed)
		return padded(result, int(d.Payload.Draw(r)), r.Uint64)
	}
}

func evaluate(d Description, args expr.Value) (expr.Value, error) {
	env := template.Env{}
	dict, _ := args.(*starlark.Dict) // arguments are an object
	for _, name := range d.Gives.Names() {
		v, found, err := dict.Get(starlark.String(name))
		if err != nil || !found {
			return nil, &worker.Error{Type: worker.TypeArgument, Message: fmt.Sprintf("action %s: argument %s is missing", d.Name, name)}
		}
		env[name] = v
	}
	v, err := d.Gives.Eval(env)
	if err != nil {
		return nil, &worker.Error{Type: worker.TypeResult, Message: fmt.Sprintf("action %s: what it gives: %v", d.Name, err)}
	}
	return v, nil
}

// PayloadKey is the key of a padded result's padding.
const PayloadKey = "payload"

// The alphabet of padding is large enough that no database compresses it much.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// padded returns a dict whose JSON is bytes long, at most one value's limit. A dict gets one more key; any other result becomes
// the value of one. A longer result gets padding of length zero.
func padded(result expr.Value, bytes int, random func() uint64) (expr.Value, error) {
	dict, isDict := result.(*starlark.Dict)
	out := starlark.NewDict(2)
	if !isDict {
		_ = out.SetKey(starlark.String("value"), result) // a new dict accepts every string
	} else {
		for _, item := range dict.Items() {
			_ = out.SetKey(item[0], item[1])
		}
		if _, taken, _ := dict.Get(starlark.String(PayloadKey)); taken {
			return nil, &worker.Error{Type: worker.TypeResult, Message: "the result has a key payload already; give it another name, or leave payload out"}
		}
	}
	_ = out.SetKey(starlark.String(PayloadKey), starlark.String(""))
	text, err := expr.Encode(out)
	if err != nil {
		return nil, &worker.Error{Type: worker.TypeResult, Message: err.Error()}
	}
	var b strings.Builder
	for left, bits, have := min(bytes, ir.Limits{}.WithDefaults().ValueBytes)-len(text), uint64(0), 0; left > 0; left-- {
		if have < 6 {
			bits, have = random(), 64
		}
		b.WriteByte(alphabet[bits&63])
		bits, have = bits>>6, have-6
	}
	_ = out.SetKey(starlark.String(PayloadKey), starlark.String(b.String()))
	return out, nil
}
