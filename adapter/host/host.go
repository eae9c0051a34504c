package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pulley/adapter/protocol"
	"pulley/engine/worker/procgroup"
)

// BatchesMaxDefault is the default of Config.BatchesMax.
const BatchesMaxDefault = 64

// Config configures a Host.
type Config struct {
	// Command is the adapter's program and its arguments; see [Command]. A program without a slash is searched in PATH.
	Command []string

	// Env has variables for the adapter, besides those of this process, which it overrides.
	Env map[string]string

	// BatchesMax bounds the batches of a process that have no answer; a further one waits. Zero means BatchesMaxDefault.
	BatchesMax int

	// Observe receives what a process writes, except hello, ready, and errors that are the answer to setup or open: in the order
	// of the process's lines, with the time at which the line was read, and before the call that the message answers returns.
	// One call is made at a time, whatever the number of processes. It must not call the host; nil: nobody observes.
	Observe func(process int, r protocol.Response, at time.Time)

	// Log receives each line on standard error, and each on standard output that is no message, concurrently; may be nil.
	Log func(process int, line string)

	// Misbehaved receives each misbehaviour of a process, concurrently, and reports whether the process may continue. Nil: with
	// harmless ones it may, and others end it.
	Misbehaved func(process int, m *Misbehaviour) (mayContinue bool)
}

// Host starts the processes of one run. Its methods are safe for concurrent use.
type Host struct {
	config  Config
	program string
	keeper  *procgroup.Supervisor
	batches atomic.Int64   // number of the last one, of all processes
	tasks   sync.WaitGroup // one of each process, until its output has been read

	observing sync.Mutex // held while Observe is called

	mu        sync.RWMutex
	workloads map[string]*protocol.Workload
	instances map[string]*protocol.Workload // of those that were submitted, by id
}

// New makes a host. Close ends it. A program that is not there is an error.
func New(c Config) (*Host, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, errNoCommand
	}
	if c.BatchesMax < 0 {
		return nil, errors.New("the bound of open batches is below zero; leave it at zero for the default")
	}
	c.BatchesMax = cmp.Or(c.BatchesMax, BatchesMaxDefault)
	program, err := procgroup.Find(c.Command[0], ".")
	if err != nil {
		return nil, err
	}
	h := &Host{config: c, program: program, workloads: map[string]*protocol.Workload{}, instances: map[string]*protocol.Workload{}}
	if h.keeper, err = procgroup.New(); err != nil {
		return nil, err
	}
	return h, nil
}

// Close kills all processes, with whatever they started, and returns when nothing of them is left, or with an error when ctx
// has ended. Closing twice is safe.
func (h *Host) Close(ctx context.Context) error {
	err := h.keeper.Close(ctx)
	over := make(chan struct{})
	go func() { // ends when all processes have, which the keeper has killed
		h.tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
		return err
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("the output of adapter processes was not read to its end: %w", context.Cause(ctx)))
	}
}

// Start starts a process with a number of the run, from 0. A number may be used again when its process has ended.
func (h *Host) Start(number int) (*Process, error) {
	var files [6]*os.File
	closeAll := func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeAll()
			return nil, fmt.Errorf("no pipe to the adapter: %w", err)
		}
	}
	argv := append([]string{h.program}, h.config.Command[1:]...)
	group, err := h.keeper.Start(procgroup.Program{
		Path: h.program, Argv: argv, Env: procgroup.Environ(h.config.Env), Stdin: files[0], Stdout: files[3], Stderr: files[5],
	}, procgroup.Limits{})
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("the adapter %s cannot be started: %w", h.program, err)
	}
	_, _, _ = files[0].Close(), files[3].Close(), files[5].Close() // the process has its own
	p := &Process{
		host: h, number: number, group: group, in: files[1], writing: make(chan struct{}, 1), over: make(chan struct{}),
		awaited: protocol.KindHello, control: make(chan protocol.Response, 1),
		slots: make(chan struct{}, h.config.BatchesMax), calls: map[int64]*Call{},
	}
	h.tasks.Go(func() { p.run(files[2], files[4]) })
	return p, nil
}

func (h *Host) learnWorkloads(workloads []protocol.Workload) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range workloads {
		w := workloads[i]
		if err := w.Validate(); err != nil {
			return err
		}
		if h.workloads[w.Name] == nil {
			h.workloads[w.Name] = &w
		}
	}
	return nil
}

// learnInstances registers instances before they are submitted, so that no report of them comes too early.
func (h *Host) learnInstances(instances []protocol.Instance) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, i := range instances {
		w := h.workloads[i.Workload]
		if w == nil {
			return fmt.Errorf("instance %q: setup had no workload %q", i.ID, i.Workload)
		}
		if before := h.instances[i.ID]; before != nil && before != w {
			return fmt.Errorf("instance %q was submitted with the workload %q before, and now with %q", i.ID, before.Name, w.Name)
		}
		h.instances[i.ID] = w
	}
	return nil
}

// workloadOf returns the workload of a submitted instance; nil: nobody submitted it.
func (h *Host) workloadOf(id string) *protocol.Workload {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.instances[id]
}

func (h *Host) observe(number int, r protocol.Response, at time.Time) {
	if h.config.Observe == nil {
		return
	}
	h.observing.Lock()
	defer h.observing.Unlock()
	h.config.Observe(number, r, at)
}

func (h *Host) log(number int, line string) {
	if h.config.Log != nil {
		h.config.Log(number, line)
	}
}

// probeWithin bounds the end of a probed process.
const probeWithin = time.Minute

// Probe starts an adapter, returns what it says of itself, and ends it. The adapter connects to nothing.
func Probe(ctx context.Context, command []string) (_ *protocol.Hello, err error) {
	h, err := New(Config{Command: command})
	if err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWithin)
		defer cancel()
		err = errors.Join(err, h.Close(closing))
	}()
	p, err := h.Start(0)
	if err != nil {
		return nil, err
	}
	return p.Hello(ctx)
}
