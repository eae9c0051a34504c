package manifest

import (
	"context"
	"errors"
	"sync"

	"pulley/engine/worker/httpjob"
)

// openJobs sends nothing.
func (m *Manifest) openJobs(r *reader) {
	for _, name := range r.jobServerNames {
		s := r.jobServers[name]
		jobs, err := httpjob.New(s.config)
		if err != nil {
			r.AddError(s.pos, err)
			continue
		}
		m.jobs = append(m.jobs, jobs)
		for _, a := range r.jobActions {
			if a.server != name {
				continue
			}
			if a.action.Run, err = jobs.Func(a.job); err != nil {
				r.AddError(a.pos, err)
				continue
			}
			m.actions = append(m.actions, a.action)
		}
	}
}

func (m *Manifest) closeJobs(ctx context.Context) error {
	errs := make([]error, len(m.jobs))
	var all sync.WaitGroup
	for i, j := range m.jobs {
		all.Go(func() { errs[i] = j.Close(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
