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
	Name    string   // as it is asked for: "river"
	Title   string   // as it is shown: "River"
	Modules []string // Go modules whose versions are written down
	Store   string   // where it keeps its state; empty: on the race's Postgres

	// Databases is how many databases of its own it needs on the race's Postgres.
	Databases int

	// Options are what can be set in its spec, with their defaults for a workload, all whole numbers or
	// words: "river:connections=8". What they came to is written down.
	Options []Option

	// Notes say how each workload is written for this system where that is not obvious, and what differs;
	// the key "" is of all. Cannot says why one cannot be run at all. Keys are names of workloads.
	Notes, Cannot map[string]string

	// Only names the workloads to race it on, where the others would show nothing new. Nil: all.
	Only []string

	// Submitters is how many calls of Submit may be under way at once. Zero: 1.
	Submitters int

	// Setup makes what the system needs in new, empty databases. It leaves no session there.
	Setup func(ctx context.Context, env Env) error

	// Open starts the system with its workers, ready for instances of work.
	Open func(ctx context.Context, env Env, work *Work) (System, error)
}

// System is a system that is open.
type System interface {
	// Submit begins the instances first, first+1 … first+count-1 of the work, each with Payload(i). It
	// returns when the store has them all; ends may be told before that. It is called again while the
	// instances run, by as many at once as the adapter's Submitters say.
	Submit(ctx context.Context, first, count int) error

	// Close ends all that Open started and every session. It is called once.
	Close(ctx context.Context) error
}

// Env is where a system runs.
type Env struct {
	DSNs    []string // a database each
	Options Options
	Log     func(line string) // what is worth telling; may be called from any goroutine
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

// Int gives a setting that is a number; the spec's reader has checked that it is.
func (o Options) Int(name string) int {
	n, err := strconv.Atoi(o[name])
	if err != nil {
		panic(fmt.Sprintf("option %s is %q: %v", name, o[name], err))
	}
	return n
}

// String gives the settings as name=value, sorted.
func (o Options) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		parts = append(parts, name+"="+o[name])
	}
	return strings.Join(parts, " ")
}

// Entry is an adapter as it was asked for, with what was set.
type Entry struct {
	Text    string // "river:connections=8"
	Adapter *Adapter
	set     Options
}

// ParseEntry reads NAME or NAME:OPTION=VALUE:… with an adapter of that name.
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

// OptionsFor gives every setting for a workload.
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

// Runs says whether the entry is raced on a workload and, if not, why.
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

// Fixed is a default that is the same for every workload.
func Fixed(value string) func(Workload) string { return func(Workload) string { return value } }
