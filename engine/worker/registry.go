package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/nearest"
)

// Executor runs tasks. It is safe for concurrent use.
type Executor interface {
	// Execute runs one attempt and returns its result, as JSON, or its failure. It ends the attempt at its node's timeout, with
	// a failure of type Timeout; the engine does so if it is long overdue. It returns soon after ctx ends; the result is
	// dropped if ctx was cancelled. If a worker died with the attempt, it returns DeathOf.
	Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure)

	// Check rejects a graph with an unknown action, with its position.
	Check(g *graph.Graph) error
}

// Knower is an Executor that tells whether it has an action. It is safe for concurrent use, and quick.
type Knower interface {
	Knows(action string) bool
}

// Func is an action. It must be safe for concurrent use, and return soon after ctx ends.
type Func func(ctx context.Context, call Call) (any, error)

// Action is a function with its description.
type Action struct {
	Name string // one name, or several joined by dots, as in the language
	Run  Func

	// Args are the names of the arguments. If not nil, a call with others, or without one of these, fails with an ArgumentError
	// before Run.
	Args []string
	Doc  string // one line; may be empty
}

// Registry holds Go functions by name. The zero value is not usable; NewRegistry makes one.
type Registry struct {
	mu      sync.RWMutex
	actions map[string]Action
	onPanic func(action string, value any, stack []byte)
}

// NewRegistry makes a registry of the given actions. It fails where Add would.
func NewRegistry(actions ...Action) (*Registry, error) {
	r := &Registry{actions: map[string]Action{}}
	for _, a := range actions {
		if err := r.Add(a); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// IsActionName reports whether a name of an action is valid in the language.
func IsActionName(name string) bool { return actionName.MatchString(name) }

var actionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// Register adds a function that takes undecoded arguments.
func (r *Registry) Register(name string, fn Func) error { return r.Add(Action{Name: name, Run: fn}) }

// Add adds an action. It fails for an invalid or duplicate name, and without a function.
func (r *Registry) Add(a Action) error {
	switch {
	case !IsActionName(a.Name):
		return fmt.Errorf("worker: %q is not an action's name: write letters, digits, _ and single dots, as in mail.send", a.Name)
	case a.Run == nil:
		return fmt.Errorf("worker: action %s has no function", a.Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.actions[a.Name]; taken {
		return fmt.Errorf("worker: action %s is registered already", a.Name)
	}
	r.actions[a.Name] = a
	return nil
}

// OnPanic sets a function that receives the stack of every panic of an action, from the panicking goroutine. The instance sees
// only a failure of type Panic with the panic's value.
func (r *Registry) OnPanic(f func(action string, value any, stack []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onPanic = f
}

// Knows implements Knower.
func (r *Registry) Knows(action string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.actions[action]
	return ok
}

// Describe returns all actions, sorted by name.
func (r *Registry) Describe() []Action {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.actions), func(a, b Action) int { return cmp.Compare(a.Name, b.Name) })
}

func (r *Registry) find(name string) (Action, func(string, any, []byte), bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	a, ok := r.actions[name]
	return a, r.onPanic, ok
}

// Check rejects a graph that calls unregistered actions. It reports every such call, in node order, each an *ir.Error if the
// graph comes from a program.
func (r *Registry) Check(g *graph.Graph) error {
	var errs []error
	for _, n := range g.Nodes {
		if n.Kind != graph.Action {
			continue
		}
		if _, _, ok := r.find(n.Action); ok {
			continue
		}
		msg := fmt.Sprintf("unknown action @%s; %s", n.Action, r.suggest(n.Action))
		if n.Pos == (ir.Pos{}) {
			errs = append(errs, fmt.Errorf("graph %s, node %s: %s", g.Name, n.Name, msg))
			continue
		}
		errs = append(errs, &ir.Error{Pos: n.Pos, Msg: msg})
	}
	return errors.Join(errs...)
}

// CheckArguments rejects a graph with calls whose arguments do not match their action's: they would fail with an ArgumentError.
// It reports every such call, as Check does.
func (r *Registry) CheckArguments(g *graph.Graph) error {
	var errs []error
	wrong := func(n *graph.Node, format string, args ...any) {
		msg := fmt.Sprintf("@%s "+format, append([]any{n.Action}, args...)...)
		if n.Pos == (ir.Pos{}) {
			errs = append(errs, fmt.Errorf("graph %s, node %s: %s", g.Name, n.Name, msg))
			return
		}
		errs = append(errs, &ir.Error{Pos: n.Pos, Msg: msg})
	}
	for _, n := range g.Nodes {
		a, _, known := r.find(n.Action)
		if n.Kind != graph.Action || !known || a.Args == nil {
			continue
		}
		var given []string
		for _, arg := range n.Args {
			given = append(given, arg.Name)
			if !slices.Contains(a.Args, arg.Name) {
				wrong(n, "takes no %s; it takes %s", arg.Name, cmp.Or(strings.Join(a.Args, ", "), "nothing"))
			}
		}
		for _, name := range a.Args {
			if !slices.Contains(given, name) {
				wrong(n, "lacks %s; write %s=…", name, name)
			}
		}
	}
	return errors.Join(errs...)
}

func (r *Registry) suggest(name string) string {
	var names []string
	for _, a := range r.Describe() {
		names = append(names, a.Name)
	}
	if best := nearest.Word(name, names); best != "" {
		return "did you mean @" + best + "?"
	}
	return "register it, or write one of those that are"
}
