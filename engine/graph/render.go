package graph

import (
	"fmt"
	"strings"
)

// Text draws the graph as a list: every node with its kind, its count and its place, and below it
// the ways out and the values that it passes on.
func (g *Graph) Text() string {
	var b strings.Builder
	inline, frontier, barriers := 0, 0, 0
	for _, n := range g.Nodes {
		switch {
		case g.Waits(n):
			barriers++
			frontier++
		case g.Frontier(n):
			frontier++
		default:
			inline++
		}
	}
	fmt.Fprintf(&b, "graph %s: %d nodes: %d inline, %d frontier, of which %d wait for several\n", g.Name, len(g.Nodes), inline, frontier, barriers)
	data := map[NodeID][]*Edge{}
	for _, e := range g.DataEdges() {
		data[e.From] = append(data[e.From], e)
	}
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "%s%-10s %s%s\n", strings.Repeat("  ", n.Depth), n.Kind, n.Name, g.remarks(n))
		indent := strings.Repeat("  ", n.Depth) + "           "
		for _, e := range g.out[n.ID] {
			fmt.Fprintf(&b, "%s%s → %s\n", indent, e.label(), g.Nodes[e.To].Name)
		}
		for _, e := range data[n.ID] {
			fmt.Fprintf(&b, "%sdata %s → %s\n", indent, g.Vars[e.Var].Name, g.Nodes[e.To].Name)
		}
	}
	return b.String()
}

func (g *Graph) remarks(n *Node) string {
	var out []string
	switch {
	case n.Kind == Input:
	case n.Kind == Aggregate && n.Required == 0:
		out = append(out, "required: number of elements")
	case g.Waits(n) || g.Frontier(n):
		out = append(out, fmt.Sprintf("required: %d", n.Required))
	}
	if !g.Frontier(n) {
		out = append(out, "inline")
	}
	if n.Pos.Line > 0 {
		out = append(out, fmt.Sprintf("line %d", n.Pos.Line))
	}
	return " (" + strings.Join(out, ", ") + ")"
}

func (e *Edge) label() string {
	switch {
	case e.Kind == Guard && e.Guard == nil:
		return "guard else"
	case e.Kind == Guard:
		return "guard " + e.Guard.Text
	case len(e.Types) > 0:
		return string(e.Kind) + " " + strings.Join(e.Types, ", ")
	}
	return string(e.Kind)
}

// DOT draws the graph in Graphviz's language: frontier nodes as boxes, barriers doubled, inline ones
// round; values dotted.
func (g *Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n", quoteDOT(g.Name))
	for _, n := range g.Nodes {
		shape := "shape=ellipse, style=rounded"
		switch {
		case g.Waits(n):
			shape = "shape=box, peripheries=2"
		case g.Frontier(n):
			shape = "shape=box"
		case n.Kind == Branch || n.Kind == LoopHead:
			shape = "shape=diamond"
		}
		fmt.Fprintf(&b, "  n%d [label=%s, %s];\n", n.ID, quoteDOT(n.caption()), shape)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -> n%d [%s];\n", e.From, e.To, e.dotStyle())
	}
	for _, e := range g.DataEdges() {
		fmt.Fprintf(&b, "  n%d -> n%d [style=dotted, constraint=false, color=gray, label=%s];\n", e.From, e.To, quoteDOT(g.Vars[e.Var].Name))
	}
	b.WriteString("}\n")
	return b.String()
}

func (n *Node) caption() string {
	if n.Kind == Action {
		if n.Name == n.Action {
			return "@" + n.Action
		}
		return n.Name + "\n@" + n.Action
	}
	return n.Name
}

func (e *Edge) dotStyle() string {
	switch e.Kind {
	case Forward:
		return "style=solid"
	case Soft:
		return "style=dashed"
	case Back:
		return `style=bold, constraint=false, label="back"`
	}
	return "style=solid, label=" + quoteDOT(e.label())
}

func quoteDOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Mermaid draws the graph as a Mermaid flowchart.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, n := range g.Nodes {
		open, end := "([", "])"
		switch {
		case g.Waits(n):
			open, end = "[[", "]]"
		case g.Frontier(n):
			open, end = "[", "]"
		case n.Kind == Branch || n.Kind == LoopHead:
			open, end = "{", "}"
		}
		fmt.Fprintf(&b, "  n%d%s%s%s\n", n.ID, open, quoteMermaid(n.caption()), end)
	}
	for _, e := range g.Edges {
		switch e.Kind {
		case Forward:
			fmt.Fprintf(&b, "  n%d --> n%d\n", e.From, e.To)
		case Soft:
			fmt.Fprintf(&b, "  n%d -.-> n%d\n", e.From, e.To)
		default:
			fmt.Fprintf(&b, "  n%d -->|%s| n%d\n", e.From, quoteMermaid(e.label()), e.To)
		}
	}
	for _, e := range g.DataEdges() {
		fmt.Fprintf(&b, "  n%d -. %s .-> n%d\n", e.From, quoteMermaid(g.Vars[e.Var].Name), e.To)
	}
	return b.String()
}

// quoteMermaid writes a text as a quoted label, with what Mermaid would read as markup as entities.
func quoteMermaid(s string) string {
	return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", "<br/>").Replace(s) + `"`
}
