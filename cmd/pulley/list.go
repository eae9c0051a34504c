package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/chaos/fault"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/nearest"
	"pulley/scenarios"
	"pulley/scenarios/behaviour"
	"pulley/sim/cases"
)

type listCmd struct {
	What string `arg:"" help:"backends, scenarios, faults (of pulley chaos), bugs (of pulley sim) or actions (the built-in ones)."`
	console.FormatFlag
}

var lists = map[string]func() (any, string){
	"backends": listBackends, "scenarios": listScenarios, "faults": listFaults, "bugs": listBugs, "actions": listActions,
}

func (o *listCmd) Run(c *console.Console) error {
	list, known := lists[o.What]
	if !known {
		return &nearest.Unknown{Kind: "list of", Name: o.What, Known: slices.Sorted(maps.Keys(lists))}
	}
	value, text := list()
	return c.PrintAs(o.FormatFlag, value, text)
}

func listBackends() (any, string) {
	var b strings.Builder
	list := designs.Describe()
	for _, d := range list {
		fmt.Fprintf(&b, "%-8s %s\n", d.Name, d.About)
		for _, option := range d.Options {
			fmt.Fprintf(&b, "         %s\n", option)
		}
	}
	return list, b.String()
}

type listedScenario struct {
	Name       string            `json:"name"`
	About      string            `json:"about"`
	SizeMeans  string            `json:"size_means"`
	Sizes      []int             `json:"sizes"` // default ones
	SizeMin    int               `json:"size_min"`
	SizeMax    int               `json:"size_max"`
	Parameters map[string]string `json:"parameters"` // with values as JSON
}

func listScenarios() (any, string) {
	var list []listedScenario
	var b strings.Builder
	for _, s := range scenarios.Library() {
		row := listedScenario{Name: s.Name, About: s.Doc, SizeMeans: s.SizeMeans, Sizes: s.DefaultSizes, SizeMin: s.SizeMin, SizeMax: s.SizeMax, Parameters: map[string]string{}}
		names, values := s.Parameters()
		for i, name := range names {
			row.Parameters[name] = values[i]
		}
		list = append(list, row)
		fmt.Fprintf(&b, "%-16s %s\n", s.Name, s.Doc)
	}
	return list, b.String()
}

type listedFault struct {
	Name       string `json:"name"`
	About      string `json:"about"`
	Exhaustive bool   `json:"exhaustive"` // it visits every message, and is not part of all
}

func listFaults() (any, string) {
	var list []listedFault
	var b strings.Builder
	for _, k := range fault.Kinds() {
		list = append(list, listedFault{k.Name, k.Doc, k.Exhaustive()})
		only := ""
		if k.Exhaustive() {
			only = " (with --exhaustive)"
		}
		fmt.Fprintf(&b, "%-21s %s%s\n", k.Name, k.Doc, only)
	}
	return list, b.String()
}

type listedBug struct {
	Backend    string   `json:"backend"`
	Name       string   `json:"name"`
	About      string   `json:"about"`
	Invariants []string `json:"invariants"`
}

func listBugs() (any, string) {
	var list []listedBug
	var b strings.Builder
	for _, bug := range cases.Bugs("") {
		list = append(list, listedBug{bug.Backend, bug.Name, bug.What, strings.Fields(bug.Invariants)})
		fmt.Fprintf(&b, "%-14s %-46s %s\n", bug.Backend, bug.Name, bug.What)
	}
	return list, b.String()
}

type listedAction struct {
	Name  string   `json:"name"`
	Args  []string `json:"args"`
	About string   `json:"about"`
}

func listActions() (any, string) {
	var list []listedAction
	var b strings.Builder
	for _, a := range behaviour.Plain().Timed().Describe() {
		list = append(list, listedAction{a.Name, append([]string{}, a.Args...), a.Doc})
		fmt.Fprintf(&b, "@%s(%s): %s\n", a.Name, strings.Join(a.Args, ", "), a.Doc)
	}
	return list, b.String()
}
