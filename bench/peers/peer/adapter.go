package peer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// OurModule is the module whose version is written down for our own backends.
const OurModule = "pulley" // the module's path

// Adapter is a system that can be raced.
type Adapter struct {
	Name    string   // in specs: "river"
	Title   string   // for display: "River"
	Modules []string // Go modules whose versions are recorded
	Store   string   // where it keeps its state; empty: on the race's Postgres

	// Databases is the number of databases it needs on the race's Postgres.
	Databases int

	// Options can be set in its spec, with defaults per workload, whole numbers or words: "river:connections=8". Their values
	// are recorded.
	Options []Option

	// Notes describe how workloads are written for this system and what differs; the key "" applies to all. Cannot is why a
	// workload cannot be run. Keys are names of workloads.
	Notes, Cannot map[string]string

	// Only names the workloads to race it on, if the others would show nothing new. Nil: all.
	Only []string

	// Submitters bounds concurrent calls of Submit. Zero: 1.
	Submitters int

	// Setup prepares new, empty databases. It leaves no session.
	Setup func(ctx context.Context, env Env) error

	// Open starts the system with its workers, ready for instances of work.
	Open func(ctx context.Context, env Env, work *Work) (System, error)
}

// System is an open system.
type System interface {
	// Submit starts the instances first … first+count-1 of the work, each with Payload(i). It returns when the store has them
	// all; ends may be reported earlier. It is called while instances run, concurrently up to the adapter's Submitters.
	Submit(ctx context.Context, first, count int) error

	// Close ends all that Open started and every session. It is called once.
	Close(ctx context.Context) error
}

// Env is where a system runs.
type Env struct {
	DSNs    []string // one per database
	Options Options
	Log     func(line string) // may be called from any goroutine
}

// Option is one setting of an adapter.
type Option struct {
	Name    string
	Doc     string
	Default func(Workload) string // nil: the empty string
	Words   []string              // if not nil, one of these; else a whole number
}

// Options are settings by name.
type Options map[string]string

// Int returns a numeric setting, which ParseEntry has checked.
func (o Options) Int(name string) int {
	n, err := strconv.Atoi(o[name])
	if err != nil {
		panic(fmt.Sprintf("option %s is %q: %v", name, o[name], err))
	}
	return n
}

// String formats the settings as name=value, sorted.
func (o Options) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		parts = append(parts, name+"="+o[name])
	}
	return strings.Join(parts, " ")
}

// Entry is an adapter with settings.
type Entry struct {
	Text    string // "river:connections=8"
	Adapter *Adapter
	set     Options
}

// ParseEntry parses NAME or NAME:OPTION=VALUE:… for an adapter of that name.
func ParseEntry(text string, adapter *Adapter) (Entry, error) {
	e := Entry{Text: text, Adapter: adapter, set: Options{}}
	_, rest, found := strings.Cut(text, ":")
	if !found {
		return e, nil
	}
	for part := range strings.SplitSeq(rest, ":") {
		name, value, ok := strings.Cut(part, "=")
		i := slices.IndexFunc(adapter.Options, func(o Option) bool { return o.Name == name })
		if !ok || i < 0 {
			return e, fmt.Errorf("system %q: no option %q; %s", text, part, cmp.Or(adapter.usage(), "it takes none"))
		}
		if _, again := e.set[name]; again {
			return e, fmt.Errorf("system %q: the option %s is there twice", text, name)
		}
		if err := adapter.Options[i].check(value); err != nil {
			return e, fmt.Errorf("system %q: %w", text, err)
		}
		e.set[name] = value
	}
	return e, nil
}

// OptionsFor returns every setting for a workload.
func (e Entry) OptionsFor(w Workload) Options {
	out := Options{}
	for _, o := range e.Adapter.Options {
		if value, ok := e.set[o.Name]; ok {
			out[o.Name] = value
		} else if o.Default != nil {
			out[o.Name] = o.Default(w)
		}
	}
	return out
}

// Runs reports whether the entry is raced on a workload and, if not, why.
func (e Entry) Runs(w Workload) (ok bool, why string) {
	if why := e.Adapter.Cannot[w.Name]; why != "" {
		return false, why
	}
	if e.Adapter.Only != nil && !slices.Contains(e.Adapter.Only, w.Name) {
		return false, "this way of using it makes a difference only to " + strings.Join(e.Adapter.Only, " and ")
	}
	return true, ""
}

func (a *Adapter) usage() string {
	var forms []string
	for _, o := range a.Options {
		forms = append(forms, o.Name+"="+o.values())
	}
	if forms == nil {
		return ""
	}
	return "it takes " + strings.Join(forms, ", ")
}

func (o Option) values() string {
	if o.Words != nil {
		return strings.Join(o.Words, "|")
	}
	return "N"
}

func (o Option) check(value string) error {
	if o.Words != nil {
		if !slices.Contains(o.Words, value) {
			return fmt.Errorf("%s is %q; choose %s", o.Name, value, strings.Join(o.Words, " or "))
		}
		return nil
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > 100_000 {
		return fmt.Errorf("%s is %q; choose a number from 1 to 100000", o.Name, value)
	}
	return nil
}

// Fixed is a default for every workload.
func Fixed(value string) func(Workload) string { return func(Workload) string { return value } }
