package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pulley/adapter/host"
	"pulley/adapter/named"
	"pulley/bench/systems"
	"pulley/cmd/pulley/console"
)

// systemsFlags are the flags of commands that measure systems behind adapters.
type systemsFlags struct {
	Systems []string `sep:"none" placeholder:"SYSTEM,…" help:"Systems behind adapters, all through the same door: pulley's own by their names, others by those of their adapters, such as river, or by a command, as in 'exec:./my-adapter --flag'; may be repeated."`
	Setting []string `sep:"none" placeholder:"NAME=VALUE" help:"With --systems: a setting of those adapters that have it; may be repeated."`
	NoTune  bool     `help:"With --systems: keep the adapters' defaults, and do not search for the slots and settings with which each is fastest."`
}

// greet asks each system what it is. A setting must be one of at least one system. others are the given flags that systems behind
// adapters do not have.
func (o *systemsFlags) greet(others ...string) (all []systems.System, err error) {
	switch {
	case len(o.Systems) == 0 && (len(o.Setting) > 0 || o.NoTune):
		return nil, fmt.Errorf("--setting and --no-tune are for --systems; name some")
	case len(o.Systems) > 0 && len(others) > 0:
		return nil, fmt.Errorf("systems behind adapters have no %s; leave it out", strings.Join(others, ", "))
	}
	given, err := host.ParseSettings(o.Setting)
	if err != nil {
		return nil, fmt.Errorf("--setting: %w", err)
	}
	found, err := named.ParseAll(o.Systems)
	if err != nil {
		return nil, fmt.Errorf("--systems: %w", err)
	}
	return greetAll(found, given)
}

// ours are the designs beside which claims measure others.
const ours = "push,journal"

// greetBesideOurs is greet, with ours among the systems if there are any, and without those whose programs are missing.
func (o *systemsFlags) greetBesideOurs(c *console.Console) (all []systems.System, missing map[string]string, err error) {
	if len(o.Systems) == 0 {
		_, err := o.greet()
		return nil, nil, err
	}
	given, err := host.ParseSettings(o.Setting)
	if err != nil {
		return nil, nil, fmt.Errorf("--setting: %w", err)
	}
	found, absent, err := named.ParsePresent(o.Systems)
	if err != nil {
		return nil, nil, fmt.Errorf("--systems: %w", err)
	}
	missing = map[string]string{}
	for _, m := range absent {
		missing[m.Name] = m.Error()
		c.Say("%s is not measured: %v", m.Name, m)
	}
	if len(found) == 0 {
		return nil, missing, nil
	}
	own, err := named.Parse(ours)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range found {
		own = slices.DeleteFunc(own, func(o named.System) bool { return o.Name == s.Name })
	}
	all, err = greetAll(append(own, found...), given)
	return all, missing, err
}

// greetAll greets systems, each of which has those of the settings that it knows.
func greetAll(found []named.System, given map[string]string) (all []systems.System, err error) {
	ctx, stop := console.Interruptible()
	defer stop()
	for _, f := range found {
		s, err := greetOne(ctx, f, all)
		if err != nil {
			return nil, fmt.Errorf("--systems %s: %w", f.Name, err)
		}
		s.Settings = s.Has(given)
		all = append(all, s)
	}
	for name := range given {
		if !slices.ContainsFunc(all, func(s systems.System) bool { _, has := s.Settings[name]; return has }) {
			return nil, fmt.Errorf("--setting %s: none of the systems has such a setting", name)
		}
	}
	return all, nil
}

// greetOne gives a command the name of its adapter, with a number if others have it.
func greetOne(ctx context.Context, f named.System, others []systems.System) (systems.System, error) {
	name := f.Name
	if strings.HasPrefix(name, host.CommandPrefix) {
		name = ""
	}
	s, err := systems.Greet(ctx, name, f.Command)
	name = s.Name
	for n := 2; slices.ContainsFunc(others, func(o systems.System) bool { return o.Name == s.Name }); n++ {
		s.Name = fmt.Sprintf("%s-%d", name, n)
	}
	return s, err
}

// givenFlags returns, in order, the names of the flags that were given.
func givenFlags(flags map[string]bool) (given []string) {
	for flag, is := range flags {
		if is {
			given = append(given, flag)
		}
	}
	slices.Sort(given)
	return given
}
