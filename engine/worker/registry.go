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
	// Execute runs one attempt and gives its result, as JSON, or its failure. It ends the attempt at its
	// node's timeout, with a failure of type Timeout; the engine does if it is long overdue. It returns
	// soon after ctx ends; what it gives then is dropped if ctx was cancelled. Where a worker died with the
	// attempt, it gives DeathOf.
	Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure)

	// Check refuses a graph with an action that Execute does not know, by position.
	Check(g *graph.Graph) error
}

// Func is an action. It must be safe for concurrent use, and return soon after ctx ends.
type Func func(ctx context.Context, call Call) (any, error)

// Action is a function and what people should know of it.
type Action struct {
	Name string // a name, or several joined by dots, as in the language
	Run  Func

	// Args are the names of the arguments. If it is not nil, a call with others, or without one of
	// these, fails with an ArgumentError before Run sees it.
	Args []string
	Doc  string // one line; may be empty
}

// Registry holds Go functions by name. The zero value is not usable; NewRegistry makes one.
type Registry struct {
	mu      sync.RWMutex
	actions map[string]Action
	onPanic func(action string, value any, stack []byte)
}

// NewRegistry makes a registry that knows the given actions. It fails where Add would.
func NewRegistry(actions ...Action) (*Registry, error) {
	r := &Registry{actions: map[string]Action{}}
	for _, a := range actions {
		if err := r.Add(a); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// IsActionName says whether the language can write a name of an action.
func IsActionName(name string) bool { return actionName.MatchString(name) }

var actionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// Register adds a function that takes its arguments as they come.
func (r *Registry) Register(name string, fn Func) error { return r.Add(Action{Name: name, Run: fn}) }

// Add adds an action. A name that the language cannot write, one that is taken, and an action
// without a function are errors.
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

// OnPanic has f called, from the panicking goroutine, with the stack of every panic of an action.
// The instance sees only a failure of type Panic with the panic's value.
func (r *Registry) OnPanic(f func(action string, value any, stack []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onPanic = f
}

// Describe gives all actions, sorted by name.
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

// Check refuses a graph that calls an action which is not registered. It reports every such call, in
// the order of the nodes, each an *ir.Error where the graph comes from a program.
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

// CheckArguments refuses a graph with a call whose arguments are not those that its action states: the call would fail with an ArgumentError
// each time. It reports every such call, in the order of the nodes, each an *ir.Error where the graph comes from a program.
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

// suggest names the nearest action, or how to make the name known.
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
