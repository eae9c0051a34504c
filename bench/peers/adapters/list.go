package adapters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pulley/bench/peers/peer"
	"pulley/engine/backend/designs"
)

var otherSystems []*peer.Adapter

func register(a *peer.Adapter) {
	if a.Name == "" || strings.ContainsAny(a.Name, ": ") || slices.ContainsFunc(otherSystems, func(o *peer.Adapter) bool { return o.Name == a.Name }) {
		panic(fmt.Sprintf("adapters: the name %q cannot be used, or is there twice", a.Name))
	}
	otherSystems = append(otherSystems, a)
}

// Rivals lists the systems that are not ours, by name.
func OtherSystems() []*peer.Adapter {
	return slices.SortedFunc(slices.Values(otherSystems), func(a, b *peer.Adapter) int { return cmp.Compare(a.Name, b.Name) })
}

// Parse parses entries NAME or NAME:OPTION=VALUE:…. Errors list the choices.
func Parse(texts []string) ([]peer.Entry, error) {
	var out []peer.Entry
	for _, text := range texts {
		text = strings.TrimSpace(text)
		e, err := parse(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o peer.Entry) bool { return o.Text == e.Text }) {
			return nil, fmt.Errorf("system %s: it is named twice", e.Text)
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no system; name one of pulley's backends, or of %s", names())
	}
	return out, nil
}

func parse(text string) (peer.Entry, error) {
	name, _, _ := strings.Cut(text, ":")
	for _, a := range otherSystems {
		if a.Name == name {
			return peer.ParseEntry(text, a)
		}
	}
	spec, err := designs.Parse(text)
	if err != nil {
		return peer.Entry{}, fmt.Errorf("%w; and of others: %s", err, names())
	}
	if !spec.NeedsPostgres() {
		return peer.Entry{}, fmt.Errorf("system %s: it keeps nothing, so a race with it would say nothing", text)
	}
	return peer.Entry{Text: spec.String(), Adapter: ours(spec)}, nil
}

func names() string {
	var out []string
	for _, a := range OtherSystems() {
		out = append(out, a.Name)
	}
	return strings.Join(out, ", ")
}

// Default lists the default race: our fastest backends, and every other system.
func Default() []string {
	out := []string{"push"}
	if _, err := designs.Parse("journal"); err == nil {
		out = append(out, "journal")
	}
	for _, a := range OtherSystems() {
		out = append(out, a.Name)
	}
	return out
}
