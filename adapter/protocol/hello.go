package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate returns all mistakes of the hello, one per line.
func (h *Hello) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if h.Version != Version {
		wrong("version is %d; pulley speaks version %d", h.Version, Version)
	}
	for _, text := range []struct{ field, value string }{{"name", h.Name}, {"system", h.System}, {"system_version", h.SystemVersion}} {
		if text.value == "" {
			wrong("%s is not there", text.field)
		}
	}
	if err := h.Promises.Validate(); err != nil {
		errs = append(errs, err)
	}
	if len(h.Shapes) == 0 {
		wrong("shapes has none of what the system can run: single, graph, repeat, retries")
	}
	for i, s := range h.Shapes {
		switch {
		case !slices.Contains([]Shape{ShapeSingle, ShapeGraph, ShapeRepeat, ShapeRetries}, s):
			wrong("shapes has %q; there are single, graph, repeat and retries", s)
		case slices.Contains(h.Shapes[:i], s):
			wrong("shapes has %s twice", s)
		}
	}
	if len(h.Shapes) > 0 && !slices.Contains(h.Shapes, ShapeSingle) && !slices.Contains(h.Shapes, ShapeGraph) {
		wrong("shapes has neither single nor graph, so that there is nothing to repeat or to retry")
	}
	for i, s := range h.Settings {
		switch {
		case s.Name == "" || strings.ContainsAny(s.Name, "= \t\n"):
			wrong("a setting has the name %q; it is given as NAME=VALUE", s.Name)
		case slices.ContainsFunc(h.Settings[:i], func(o Setting) bool { return o.Name == s.Name }):
			wrong("two settings have the name %s", s.Name)
		}
	}
	return errors.Join(errs...)
}

// Validate returns all mistakes of the promises, one per line.
func (p *Promises) Validate() error {
	var errs []error
	for _, word := range []struct {
		field, value string
		known        []string
	}{
		{"submit", p.Submit, []string{Durable, None}},
		{"resubmit", p.Resubmit, []string{Once, None}},
		{"execution", p.Execution, []string{AtLeastOnce, AtMostOnce}},
		{"results", p.Results, []string{Once, Any}},
		{"order", p.Order, []string{InOrder, None}},
	} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			errs = append(errs, fmt.Errorf("the promise %s is %q; it is %s, or not there", word.field, word.value, strings.Join(word.known, " or ")))
		}
	}
	if p.Attempts < 0 || p.RecoversMS < 0 {
		errs = append(errs, errors.New("the promises attempts and recovers_ms are at least 0"))
	}
	return errors.Join(errs...)
}
