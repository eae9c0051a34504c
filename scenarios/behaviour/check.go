package behaviour

import (
	"fmt"
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/nearest"
)

// Check returns the calls of a graph that are certainly wrong: of an unknown action, or with unknown or missing arguments. Each
// is an *ir.Error at the call if the graph comes from a program.
func (a *Actions) Check(g *graph.Graph) []error {
	var errs []error
	wrong := func(n *graph.Node, format string, args ...any) {
		msg := fmt.Sprintf("@%s "+format, append([]any{n.Action}, args...)...)
		if n.Pos == (ir.Pos{}) {
			errs = append(errs, fmt.Errorf("graph %s, node %s: %s", g.Name, n.Name, msg))
			return
		}
		errs = append(errs, &ir.Error{Pos: n.Pos, Msg: msg})
	}
	takes := map[string][]string{} // of actions that declare them
	for _, action := range a.instant.Describe() {
		takes[action.Name] = action.Args
	}
	for _, n := range g.Nodes {
		if n.Kind != graph.Action {
			continue
		}
		known, have := takes[n.Action]
		if !have {
			wrong(n, "is no action; %s", a.suggest(n.Action))
			continue
		}
		var given []string
		for _, arg := range n.Args {
			given = append(given, arg.Name)
			if known != nil && !slices.Contains(known, arg.Name) {
				wrong(n, "takes no %s; it takes %s", arg.Name, list(known))
			}
		}
		needs := known
		if d, described := a.described[n.Action]; described && d.Gives != nil {
			needs = d.Gives.Names()
		}
		for _, name := range needs {
			if !slices.Contains(given, name) {
				wrong(n, "lacks %s; write %s=…", name, name)
			}
		}
	}
	return errs
}

func (a *Actions) suggest(name string) string {
	var names []string
	for _, action := range a.instant.Describe() {
		names = append(names, action.Name)
	}
	if word := nearest.Word(name, names); word != "" {
		return "did you mean @" + word + "?"
	}
	return "describe it under actions, or write one that is built in: @" + strings.Join(BuiltinNames(), ", @")
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// rare is a practically impossible probability.
const rare = 1e-9

// Timeouts lists the nodes whose attempts may exceed their timeout, one per line. The reference interpreter has no time, and so
// does not know all right ends of such programs.
func (a *Actions) Timeouts(g *graph.Graph) []string {
	var warnings []string
	for _, n := range g.Nodes {
		law := a.described[n.Action].Service
		if n.Kind != graph.Action || n.Timeout == 0 || law == nil {
			continue
		}
		if p := law.Above(int64(n.Timeout)); p > rare {
			warnings = append(warnings, fmt.Sprintf("%s: @%s takes longer than its timeout of %v in %.2g of 100 attempts, and how the instance ends then is not known beforehand; give it more time, or leave results out of checks",
				n.Pos, n.Action, n.Timeout, 100*p))
		}
	}
	return warnings
}
