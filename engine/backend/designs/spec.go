// Package designs names the backends: it parses a design and its options, and opens it.
package designs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/eager"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/backend/postgres/push"
	"pulley/internal/nearest"
)

// Spec is a backend with its options, in the user's form: "push:batch=1".
type Spec struct {
	kind kind
	text string // canonical: options in order, defaults omitted where they were
	opts map[string]string
}

type kind struct {
	name     string
	doc      string
	postgres bool
	options  []option
}

type option struct {
	name        string
	words       []string
	least, most int
}

var (
	shardsOption      = option{name: "shards", least: 1, most: 1024}
	batchOption       = option{name: "batch", least: 1, most: 10_000}
	connectionsOption = option{name: "connections", least: 2, most: 1000}
)

var kinds = []kind{
	{"push", "readiness counters; a completion pushes its effects forward in one commit", true,
		[]option{batchOption, shardsOption, connectionsOption}},
	{"journal", "readiness in the memory of each shard's owner; a completion is one appended row", true,
		[]option{batchOption, shardsOption, connectionsOption}},
	{"pull", "a ledger that every cycle scans again for what has become runnable; a cycle for each completion, unless batch groups them", true,
		[]option{{name: "scan", words: []string{"app", "sql"}}, batchOption, shardsOption, connectionsOption}},
	{"eager", "pushing with a row for every node from the start; each round of a loop resets those of its body", true,
		[]option{batchOption, shardsOption, connectionsOption}},
	{"memory", "no durability; the same decisions without a database", false,
		[]option{batchOption, shardsOption}},
}

// Parse parses NAME or NAME:OPTION=VALUE:…; errors list the choices.
func Parse(text string) (Spec, error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	k, err := findKind(parts[0])
	if err != nil {
		return Spec{}, err
	}
	s := Spec{kind: k, opts: map[string]string{}}
	for _, part := range parts[1:] {
		name, value, ok := strings.Cut(part, "=")
		o := slices.IndexFunc(k.options, func(o option) bool { return o.name == name })
		switch {
		case !ok || o < 0:
			return s, fmt.Errorf("backend %q: no option %q; %s", text, part, k.usage())
		case s.opts[name] != "":
			return s, fmt.Errorf("backend %q: the option %s is there twice", text, name)
		}
		if err := k.options[o].check(value); err != nil {
			return s, fmt.Errorf("backend %q: %w", text, err)
		}
		s.opts[name] = value
	}
	s.text = k.name
	for _, o := range k.options {
		if v := s.opts[o.name]; v != "" {
			s.text += ":" + o.name + "=" + v
		}
	}
	return s, nil
}

// ParseAll parses several, and refuses duplicates.
func ParseAll(texts []string) ([]Spec, error) {
	var out []Spec
	for _, text := range texts {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Spec) bool { return o.text == s.text }) {
			return nil, fmt.Errorf("backend %s: it is named twice", s.text)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no backend; name one of %s", strings.Join(Names(), ", "))
	}
	return out, nil
}

func findKind(name string) (kind, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, &nearest.Unknown{Kind: "backend", Name: name, Known: Names()}
	}
	return kinds[i], nil
}

// Names lists the backends, without options.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Description describes a backend to people.
type Description struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Postgres bool     `json:"postgres"` // it stores its state there
	Options  []string `json:"options"`  // in the form in which they are written, with their values
}

// Describe lists the backends and their options.
func Describe() []Description {
	var list []Description
	for _, k := range kinds {
		d := Description{Name: k.name, About: k.doc, Postgres: k.postgres, Options: []string{}}
		for _, o := range k.options {
			d.Options = append(d.Options, fmt.Sprintf("%s:%s=%s", k.name, o.name, o.values()))
		}
		list = append(list, d)
	}
	return list
}

func (k kind) usage() string {
	forms := make([]string, len(k.options))
	for i, o := range k.options {
		forms[i] = fmt.Sprintf("%s:%s=%s", k.name, o.name, o.values())
	}
	return "it takes " + strings.Join(forms, ", ")
}

func (o option) values() string {
	if o.words != nil {
		return strings.Join(o.words, "|")
	}
	return fmt.Sprintf("%d…%d", o.least, o.most)
}

func (o option) check(value string) error {
	if o.words != nil {
		if slices.Contains(o.words, value) {
			return nil
		}
		return fmt.Errorf("%s is %q; choose %s", o.name, value, strings.Join(o.words, " or "))
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < o.least || n > o.most {
		return fmt.Errorf("%s is %q; choose a number from %d to %d", o.name, value, o.least, o.most)
	}
	return nil
}

// String returns the spec's canonical form, which Parse accepts.
func (s Spec) String() string { return s.text }

// Name returns the backend's name without options.
func (s Spec) Name() string { return s.kind.name }

// NeedsPostgres reports whether Open needs a database.
func (s Spec) NeedsPostgres() bool { return s.kind.postgres }

// Batch returns how many completions may share a commit; zero leaves it to the engine. Pull's default is one, as in the published
// design: grouping came with pushing. In a batch many completions share a scan transaction, which hides most of the cost of
// rescanning in a fan-out.
func (s Spec) Batch() int {
	if s.kind.name == "pull" && s.opts["batch"] == "" {
		return 1
	}
	return s.number("batch")
}

func (s Spec) number(name string) int {
	n, err := strconv.Atoi(s.opts[name])
	if err != nil {
		return 0
	}
	return n
}

// OpenOptions tell where a backend is opened.
type OpenOptions struct {
	DSN         string // unused without Postgres
	DirectDSN   string // reaches the same database past a pooler; see postgres.Config
	Schema      string // empty: the backend's default
	Application string // application_name; empty: "pulley"

	PoolMode postgres.PoolMode // of a pooler that DSN leads through; zero: it is detected

	Connections int // maximum of the pool; zero: the spec's

	Lease time.Duration // of shards that have owners; zero: the backend's default

	Tracer pgx.QueryTracer // sees every statement; may be nil

	Problem func(error) // receives problems of the background; may be nil
}

// Open opens the backend, and creates the schema if needed. The caller closes it.
func (s Spec) Open(ctx context.Context, o OpenOptions) (backend.Backend, error) {
	store := postgres.Config{
		DSN: o.DSN, DirectDSN: o.DirectDSN, PoolMode: o.PoolMode, Schema: o.Schema, Application: o.Application,
		Shards: s.number("shards"), Connections: cmp.Or(o.Connections, s.number("connections")), Tracer: o.Tracer, Problem: o.Problem,
	}
	switch s.kind.name {
	case "memory":
		// As many as the designs that it bounds: with one, nothing would run concurrently with a commit.
		return memory.New(memory.Options{Shards: cmp.Or(s.number("shards"), postgres.DefaultShards)}), nil
	case "journal":
		return journal.Open(ctx, journal.Config{Store: store, Lease: o.Lease})
	case "eager":
		return eager.Open(ctx, eager.Config{Store: store})
	case "pull":
		scan := pull.ScanApp
		if s.opts["scan"] == "sql" {
			scan = pull.ScanSQL
		}
		return pull.Open(ctx, pull.Config{Store: store, Scan: scan})
	default:
		return push.Open(ctx, push.Config{Store: store})
	}
}
