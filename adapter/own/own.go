package own

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"pulley/adapter"
	"pulley/adapter/protocol"
	"pulley/engine"
	"pulley/engine/backend/designs"
)

// schema holds the design's tables.
const schema = "pulley"

// System is a design as a system behind an adapter.
type System struct {
	spec     designs.Spec
	version  string
	settings settings
}

var _ adapter.Configurer = (*System)(nil)

// New makes an adapter for a design, as a version of pulley has it. A design that stores nothing durably is refused.
func New(design, version string) (*System, error) {
	spec, err := designs.Parse(design)
	if err != nil {
		return nil, err
	}
	if !spec.NeedsPostgres() {
		return nil, fmt.Errorf("the design %s keeps nothing that several processes could share; choose another one", spec)
	}
	return &System{spec: spec, version: version, settings: defaults}, nil
}

// Describe implements adapter.System.
func (s *System) Describe() protocol.Hello {
	return protocol.Hello{
		Name: s.spec.String(), System: "pulley " + s.spec.String(), SystemVersion: cmp.Or(s.version, "unknown"),
		Promises:      defaults.promises(),
		Shapes:        []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries},
		Settings:      describeSettings(),
		Documentation: []string{"docs/designs.md", "docs/operating.md", "engine/doc.go"},
	}
}

// Configure implements adapter.Configurer.
func (s *System) Configure(env *adapter.Env) (_ protocol.Promises, err error) {
	if s.settings, err = parseSettings(env.Settings); err == nil && env.Store.DSN == "" && s.spec.NeedsPostgres() {
		err = errors.New("there is no database; the design stores its state in Postgres")
	}
	return s.settings.promises(), err
}

// Create makes the design's schema.
func (s *System) Create(ctx context.Context, env *adapter.Env) error {
	store, err := s.spec.Open(ctx, s.openOptions(env, nil))
	if err == nil {
		store.Close()
	}
	return err
}

func (s *System) openOptions(env *adapter.Env, problem func(error)) designs.OpenOptions {
	return designs.OpenOptions{DSN: env.Store.DSN, Schema: schema, Application: "pulley " + s.spec.Name(), Lease: s.settings.lease, Problem: problem}
}

// Open implements adapter.System: it starts an engine.
func (s *System) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (adapter.Running, error) {
	r, err := newRunning(ctx, env)
	if err != nil {
		return nil, err
	}
	if r.store, err = s.spec.Open(ctx, s.openOptions(env, r.reports.problem)); err != nil {
		r.abandon()
		return nil, err
	}
	if r.engine, err = engine.New(engine.Config{
		Backend: r.store, Workers: r, Slots: session.Slots, Batch: s.spec.Batch(), Drain: drain,
		Lease: s.settings.lease, Poll: s.settings.poll, Sweep: s.settings.sweep,
		Observer: engine.Observer{Ended: r.reports.ended, Problem: r.reports.problem},
	}); err == nil {
		err = r.engine.Start(ctx)
	}
	if err != nil {
		r.abandon()
		r.store.Close()
		return nil, err
	}
	r.reporting.Go(func() { r.reports.pass(env.Reporter) })
	return r, nil
}

// settings are those of an engine that matter for a comparison.
type settings struct{ lease, poll, sweep time.Duration }

// defaults are the engine's own.
var defaults = settings{lease: 10 * time.Second, poll: 250 * time.Millisecond, sweep: 30 * time.Second}

// promises are what a design promises with the settings.
func (s settings) promises() protocol.Promises {
	return protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once,
		RecoversMS: (s.lease + s.lease/8 + 2*s.poll).Milliseconds(),
	}
}

// known are the settings, with bounds that hold for every design.
var known = []struct {
	name, about string
	field       func(*settings) *time.Duration
	least, most time.Duration
}{
	{"lease_ms", "how long a task, or a shard of the journal, is leased", func(s *settings) *time.Duration { return &s.lease }, 100 * time.Millisecond, time.Hour},
	{"poll_ms", "how often a process asks for work that nobody told it of", func(s *settings) *time.Duration { return &s.poll }, time.Millisecond, time.Hour},
	{"sweep_ms", "how often rows of ended instances are removed", func(s *settings) *time.Duration { return &s.sweep }, time.Millisecond, 24 * time.Hour},
}

func describeSettings() (list []protocol.Setting) {
	for _, k := range known {
		value := *k.field(&defaults)
		list = append(list, protocol.Setting{
			Name: k.name, Default: strconv.FormatInt(value.Milliseconds(), 10),
			About: fmt.Sprintf("%s, in milliseconds, from %d to %d", k.about, k.least.Milliseconds(), k.most.Milliseconds()),
		})
	}
	return list
}

func parseSettings(texts map[string]string) (settings, error) {
	s := defaults
	for _, k := range known {
		ms, err := strconv.ParseInt(texts[k.name], 10, 64)
		if err != nil || ms < k.least.Milliseconds() || ms > k.most.Milliseconds() {
			return defaults, fmt.Errorf("%s is %q; choose milliseconds from %d to %d", k.name, texts[k.name], k.least.Milliseconds(), k.most.Milliseconds())
		}
		*k.field(&s) = time.Duration(ms) * time.Millisecond
	}
	return s, nil
}
