package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/internal/nearest"
)

// The pools start concurrently.
func (m *Manifest) openWorkers(r *reader) {
	ctx := r.options.Context
	if ctx == nil {
		ctx = context.Background()
	}
	pools := map[string]*pool.Pool{}
	errs := make([]error, len(r.workerNames))
	var all sync.WaitGroup
	for i, name := range r.workerNames {
		c := r.workers[name].config
		c.Log = r.options.Log
		if log := c.Log; log != nil {
			c.Problem = func(err error) { log(name, err.Error()) }
		}
		p, err := pool.New(c, m.keeper)
		if errs[i] = err; err != nil {
			continue
		}
		pools[name] = p
		m.pools = append(m.pools, p)
		all.Go(func() { errs[i] = p.Start(ctx) })
	}
	all.Wait()
	for i, name := range r.workerNames {
		var typed *worker.Error
		if errors.As(errs[i], &typed) {
			errs[i] = errors.New(typed.Message)
		}
		r.AddError(r.workers[name].pos, errs[i])
		if errs[i] == nil {
			m.workerActions(r, name, pools[name])
		}
	}
}

func (m *Manifest) workerActions(r *reader, name string, p *pool.Pool) {
	if !r.workers[name].named {
		m.actions = append(m.actions, p.Actions()...)
		return
	}
	var names []string
	for _, a := range p.Actions() {
		names = append(names, a.Name)
	}
	for _, a := range r.workerActions {
		if a.worker != name {
			continue
		}
		i := slices.Index(names, a.calls)
		if i < 0 {
			r.Add(a.pos, "worker %s has no action %s; %s", name, a.calls, known("actions", a.calls, names))
			continue
		}
		action := p.Actions()[i]
		action.Name = a.action.Name
		if a.action.Args != nil {
			action.Args = a.action.Args
		}
		if a.action.Doc != "" {
			action.Doc = a.action.Doc
		}
		m.actions = append(m.actions, action)
	}
}

func known(what, name string, names []string) string {
	if best := nearest.Word(name, names); best != "" {
		return "did you mean " + best + "?"
	}
	if len(names) == 0 {
		return "the file has no " + what
	}
	return fmt.Sprintf("its %s are %s", what, strings.Join(names, ", "))
}

func (m *Manifest) closePools(ctx context.Context) error {
	errs := make([]error, len(m.pools))
	var all sync.WaitGroup
	for i, p := range m.pools {
		all.Go(func() { errs[i] = p.Close(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
