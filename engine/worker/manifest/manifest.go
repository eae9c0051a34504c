package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/httpjob"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/process"
	"pulley/engine/worker/procgroup"
	"pulley/internal/cause"
	"pulley/internal/yamlfile"
)

// Options complement a file.
type Options struct {
	// Log receives each line that an action writes to standard error, concurrently. For a long-lived worker, action is the
	// worker's name, and Log also receives the worker's problems; for a job server, errors that fail no attempt. May be nil.
	Log func(action, line string)

	// Context ends the start of workers. Nil: only their own bounds do.
	Context context.Context
}

// Manifest is the actions of a file, ready to run.
type Manifest struct {
	file    string
	actions []worker.Action
	keeper  *procgroup.Supervisor // nil without processes
	pools   []*pool.Pool
	jobs    []*httpjob.Jobs
	grace   time.Duration
}

// Grace is the longest time that one of the actions may take to end. The engine's Config.Grace should be longer, or it abandons
// attempts whose program is still ending.
func (m *Manifest) Grace() time.Duration { return m.grace }

// Open reads a file and makes its actions ready. If the file is wrong, the error is yamlfile.Mistakes, one line each. The
// caller closes the manifest.
func Open(file string, o Options) (*Manifest, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("actions file %s: %w", file, cause.Of(err))
	}
	r := &reader{
		longestGrace: max(process.GraceDefault, pool.GraceDefault), dir: filepath.Dir(file), options: o,
		workers: map[string]*workerPool{}, jobServers: map[string]*jobServer{},
	}
	if root := yamlfile.Parse(file, data, &r.Report); root != nil {
		r.file(root)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	m := &Manifest{file: file, grace: r.longestGrace}
	if len(r.processes)+len(r.workers) > 0 {
		if m.keeper, err = procgroup.New(); err != nil {
			return nil, err
		}
	}
	for _, p := range r.processes {
		run, err := process.New(p.config, m.keeper)
		if err != nil {
			r.AddError(p.pos, err)
			continue
		}
		p.action.Run = run.Run
		m.actions = append(m.actions, p.action)
	}
	m.openJobs(r)
	if r.Err() == nil { // report mistakes without waiting for workers
		m.openWorkers(r)
	}
	if err := r.Err(); err != nil {
		closing, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return nil, errors.Join(err, m.Close(closing))
	}
	return m, nil
}

// Register adds the actions to a registry. It fails on an action that the registry already has; then the manifest must not be
// used.
func (m *Manifest) Register(reg *worker.Registry) error {
	for _, a := range m.actions {
		if err := reg.Add(a); err != nil {
			return fmt.Errorf("actions file %s: %s", m.file, strings.TrimPrefix(err.Error(), "worker: "))
		}
	}
	return nil
}

// Actions are the file's actions: programs, then jobs, then workers', each in file order.
func (m *Manifest) Actions() []worker.Action { return slices.Clone(m.actions) }

// Close lets workers finish, ends what runs, and waits for that until ctx ends.
func (m *Manifest) Close(ctx context.Context) error {
	err := m.closeJobs(ctx)
	if m.keeper == nil {
		return err
	}
	return errors.Join(err, m.closePools(ctx), m.keeper.Close(ctx))
}
