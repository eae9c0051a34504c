package benchmarks

import (
	"context"
	"fmt"
	"strings"

	"pulley/adapter/host"
	"pulley/bench/systems"
)

// SystemsFlags are the flags of commands that measure systems behind adapters.
type SystemsFlags struct {
	Systems []string `sep:"none" placeholder:"SYSTEM,…" help:"Systems behind adapters instead of --backends, all through the same door: pulley's own by their names, others by those of their adapters, such as river, or a command, as in 'exec:./my-adapter --flag'; may be repeated."`
	Setting []string `sep:"none" placeholder:"NAME=VALUE" help:"With --systems: a setting of those adapters that have it; may be repeated."`
	NoTune  bool     `help:"With --systems: run with the adapters' defaults, and do not search for the fastest slots and settings. --quick does not search either."`
}

// check refuses flags that have no meaning together.
func (o *SystemsFlags) check(others []string) error {
	switch {
	case len(o.Systems) == 0 && (len(o.Setting) > 0 || o.NoTune):
		return fmt.Errorf("--setting and --no-tune are for --systems; name some")
	case len(o.Systems) > 0 && len(others) > 0:
		return fmt.Errorf("systems behind adapters have no %s; leave it out", strings.Join(others, ", "))
	}
	return nil
}

// greet asks each system what it is. A setting must be one of at least one system.
func (o *SystemsFlags) greet(ctx context.Context) (all []systems.System, err error) {
	given, err := host.ParseSettings(o.Setting)
	if err != nil {
		return nil, fmt.Errorf("--setting: %w", err)
	}
	used := map[string]bool{}
	names := map[string]bool{}
	for _, word := range o.Systems {
		command, err := host.Command(word)
		if err != nil {
			return nil, fmt.Errorf("--systems: %w", err)
		}
		s, err := systems.Greet(ctx, "", command)
		if err != nil {
			return nil, fmt.Errorf("--systems %s: %w", word, err)
		}
		s.Settings = s.Has(given)
		for name := range s.Settings {
			used[name] = true
		}
		for n := 2; names[s.Name]; n++ {
			s.Name = fmt.Sprintf("%s-%d", s.Hello.Name, n)
		}
		names[s.Name] = true
		all = append(all, s)
	}
	for name := range given {
		if !used[name] {
			return nil, fmt.Errorf("--setting %s: none of the systems has such a setting", name)
		}
	}
	return all, nil
}
