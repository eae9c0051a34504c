package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"pulley/chaos/fault"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/nearest"
	"pulley/scenarios"
	"pulley/sim/cases"
	"pulley/sim/explore"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return "Commands, flags and the names of backends, scenarios, faults and bugs are completed.\n\nExamples:\n\n" +
		"  source <(pulley completion bash)                                  # or in ~/.bashrc\n" +
		"  source <(pulley completion zsh)                                   # or in ~/.zshrc, behind compinit\n" +
		"  pulley completion fish > ~/.config/fish/completions/pulley.fish"
}

// The scripts call pulley, so that they suit every version.
var completionScripts = map[string]string{
	"bash": `_pulley() {
	local IFS=$'\n'
	local line=${COMP_LINE:0:COMP_POINT}
	local -a words
	IFS=$' \t' read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	local last=${words[${#words[@]}-1]}
	local before=${last%"${COMP_WORDS[COMP_CWORD]##[=:]}"}
	COMPREPLY=($(pulley complete -- "${words[@]:1}" 2>/dev/null))
	COMPREPLY=("${COMPREPLY[@]#"$before"}")
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace
}
complete -o default -F _pulley pulley
`,
	"zsh": `#compdef pulley
_pulley() {
	local -a found
	found=("${(@f)$(pulley complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n ${found[1]} ]]; then
		compadd -- "${found[@]}"
	else
		_files
	fi
}
compdef _pulley pulley
`,
	"fish": `function __pulley_complete
	set -l words (commandline -opc) (commandline -ct)
	pulley complete -- $words[2..-1] 2>/dev/null
end
complete -c pulley -a '(__pulley_complete)'
`,
}

func (o *completionCmd) Run(c *console.Console) error { return c.Print(completionScripts[o.Shell]) }

type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of the command line behind pulley; the last one is the one to complete."`
}

func (o *completeCmd) Run(c *console.Console, parser *kong.Kong) error {
	words := o.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	var b strings.Builder
	for _, word := range completions(parser, words) {
		fmt.Fprintln(&b, word)
	}
	return c.Print(b.String())
}

func completions(parser *kong.Kong, words []string) []string {
	last := ""
	if len(words) > 0 {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	node := parser.Model.Node
	var flag *kong.Flag // without its value yet
	for _, word := range words {
		switch {
		case flag != nil:
			flag = nil
		case strings.HasPrefix(word, "-"):
			if found := flagOf(node, word); found != nil && !found.IsBool() && !strings.Contains(word, "=") {
				flag = found
			}
		default:
			if child := childOf(node, word); child != nil {
				node = child
			}
		}
	}
	name, value, assigned := strings.Cut(last, "=")
	switch {
	case flag != nil:
		return valuesOf(flag.Value, last, "")
	case assigned && strings.HasPrefix(name, "--"):
		if found := flagOf(node, name); found != nil {
			return valuesOf(found.Value, value, name+"=")
		}
		return nil
	case strings.HasPrefix(last, "-"):
		var names []string
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				names = append(names, "--"+f.Name)
			}
		}
		return beginning(names, last, "")
	}
	var names []string
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	for _, arg := range node.Positional {
		names = append(names, valuesOf(arg, last, "")...)
	}
	return beginning(names, last, "")
}

func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if f.Name == name || len(name) == 1 && string(f.Short) == name {
				return f
			}
		}
	}
	return nil
}

func childOf(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == name && n.Type == kong.CommandNode })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

func commandOf(parser *kong.Kong, words []string) (*kong.Node, error) {
	node := parser.Model.Node
	for _, word := range words {
		child := childOf(node, word)
		if child == nil {
			var known []string
			for _, n := range node.Children {
				if !n.Hidden {
					known = append(known, n.Name)
				}
			}
			return nil, seeAlso(&nearest.Unknown{Kind: "command", Name: word, Known: known}, "pulley help")
		}
		node = child
	}
	return node, nil
}

// valuesOf returns completions of a flag's or an argument's value. A comma begins the next word of a list.
func valuesOf(v *kong.Value, begun, before string) []string {
	if v.Enum != "" {
		return beginning(v.EnumSlice(), begun, before)
	}
	var names []string
	switch v.Name {
	case "backend", "backends":
		names = append(designs.Names(), "pull:scan=sql")
		if _, list := v.Target.Interface().([]string); list {
			names = append(names, explore.Backends()...)
		}
	case "systems", "design":
		names = slices.DeleteFunc(append(designs.Names(), "pull:scan=sql"), func(name string) bool { return name == "memory" })
	case "scenario", "scenarios":
		for _, s := range scenarios.Library() {
			names = append(names, s.Name)
		}
	case "faults":
		names = append(fault.Names(fault.Kinds()), "all", "none")
	case "what":
		names = slices.Collect(maps.Keys(lists))
	case "bug":
		names = append(cases.BugNames(""), "all")
	}
	slices.Sort(names)
	if at := strings.LastIndexByte(begun, ','); at >= 0 && v.IsSlice() {
		before, begun = before+begun[:at+1], begun[at+1:]
	}
	return beginning(slices.Compact(names), begun, before)
}

func beginning(words []string, begun, before string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, begun) {
			out = append(out, before+w)
		}
	}
	return out
}
