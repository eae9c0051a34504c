package systems

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/bench/measure"
	"pulley/reports/record"
)

// System is a system behind an adapter.
type System struct {
	Name     string // of its rows
	Command  []string
	Settings map[string]string // that differ from the defaults
	Hello    *protocol.Hello   // see Greet
}

// Greet starts an adapter and asks it what it is. Without a name, the system has that of its adapter.
func Greet(ctx context.Context, name string, command []string) (System, error) {
	hello, err := host.Probe(ctx, command)
	if err != nil {
		return System{}, err
	}
	return System{Name: cmp.Or(name, hello.Name), Command: command, Hello: hello}, nil
}

// Has returns those of some settings that the system has.
func (s System) Has(settings map[string]string) map[string]string {
	own := map[string]string{}
	for _, has := range s.Hello.Settings {
		if value, given := settings[has.Name]; given {
			own[has.Name] = value
		}
	}
	return own
}

// Graphs returns the graphs of a mix as the system can run them: a loop is one round and a number where the system has loops.
// What it cannot run is an error of one line.
func (s System) Graphs(mix *workload.Mix, looped *workload.Mix) (*workload.Mix, error) {
	missing := func(m *workload.Mix) error {
		for _, g := range m.Graphs {
			if shapes := g.Missing(s.Hello.Shapes); len(shapes) > 0 {
				return fmt.Errorf("%s cannot run %s: it has no %v", s.Hello.System, g.Name, shapes)
			}
		}
		return nil
	}
	if missing(looped) == nil {
		return looped, nil
	}
	return mix, missing(mix)
}

// Config is a fleet's.
type Config struct {
	System    System
	DSN       string // of a server whose role may make databases
	Workloads []protocol.Workload
	Processes int                            // at least 1
	Log       func(process int, line string) // receives what processes write besides messages; may be nil

	// Unheard is for how long no instance ends before the store is asked. Zero: 15 s.
	Unheard time.Duration
}

// Fleet is the processes of a system on a store of their own. One run at a time.
type Fleet struct {
	cfg      Config
	settings map[string]string
	unheard  time.Duration
	store    *host.Store
	conn     *pgx.Conn // only reads the counters

	observe   func(r protocol.Response, at time.Time) // of the current run
	observing sync.Mutex

	host      *host.Host
	processes []*host.Process
}

const (
	startWithin = 2 * time.Minute
	closeWithin = time.Minute
	leaveWithin = time.Minute // sessions, after their processes

	unheardDefault = 15 * time.Second
)

// Open makes a store with all that the system needs. No process is left. The caller closes the fleet.
func Open(ctx context.Context, cfg Config) (*Fleet, error) {
	f := &Fleet{cfg: cfg, unheard: cmp.Or(cfg.Unheard, unheardDefault)}
	var err error
	if f.settings, err = host.Settings(cfg.System.Hello, cfg.System.Settings); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if f.store, err = host.NewStore(ctx, cfg.DSN); err != nil {
		return nil, err
	}
	if err := f.create(ctx); err != nil {
		return nil, errors.Join(err, f.Close(ctx))
	}
	return f, nil
}

// create also makes statements countable, as they are in the server's own database. A server may have no statistics of them.
func (f *Fleet) create(ctx context.Context) error {
	dsn, err := f.Database()
	if err != nil {
		return err
	}
	if f.conn, err = measure.Connect(ctx, dsn); err != nil {
		return err
	}
	if err := f.startHost(); err != nil {
		return err
	}
	p, err := f.begin(ctx, 0, true)
	if err != nil {
		return fmt.Errorf("making the store of %s: %w", f.cfg.System.Name, err)
	}
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("making the store of %s: %w", f.cfg.System.Name, err)
	}
	_, _ = f.conn.Exec(ctx, "CREATE SCHEMA pulley_measure; CREATE EXTENSION pg_stat_statements SCHEMA pulley_measure")
	return nil
}

func (f *Fleet) startHost() (err error) {
	f.host, err = host.New(host.Config{
		Command: f.cfg.System.Command, Log: f.cfg.Log,
		Observe: func(_ int, r protocol.Response, at time.Time) {
			f.observing.Lock()
			observe := f.observe
			f.observing.Unlock()
			if observe != nil {
				observe(r, at)
			}
		},
	})
	return err
}

func (f *Fleet) begin(ctx context.Context, number int, create bool) (*host.Process, error) {
	p, err := f.host.Start(number)
	if err != nil {
		return nil, err
	}
	if _, err := p.Hello(ctx); err != nil {
		return nil, err
	}
	return p, p.Setup(ctx, host.Setup{Create: create, Store: f.store.Store, Settings: f.settings, Workloads: f.cfg.Workloads})
}

// Start starts the processes. Each works on so many tasks at once.
func (f *Fleet) Start(ctx context.Context, slots int, report protocol.Report) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for i := range f.cfg.Processes {
		p, err := f.begin(ctx, i, false)
		if err == nil {
			err = p.Open(ctx, slots, report)
		}
		if err != nil {
			return fmt.Errorf("process %d of %s: %w", i, f.cfg.System.Name, err)
		}
		f.processes = append(f.processes, p)
	}
	return nil
}

// Stop stops the processes in order.
func (f *Fleet) Stop(ctx context.Context) error {
	errs := make([]error, len(f.processes))
	var all sync.WaitGroup
	for i, p := range f.processes {
		all.Go(func() { errs[i] = p.Stop(ctx) })
	}
	all.Wait()
	f.processes = nil
	return errors.Join(errs...)
}

// Pids are the numbers of the processes in the system.
func (f *Fleet) Pids() (pids []int) {
	for _, p := range f.processes {
		pids = append(pids, p.Pid())
	}
	return pids
}

// Snapshot reads the server's counters, when the processes have left.
func (f *Fleet) Snapshot(ctx context.Context) (*measure.Counters, error) {
	return measure.Snapshot(ctx, f.conn, measure.Scope{Database: true, Wait: leaveWithin})
}

// Database is the DSN of the store's database for this program.
func (f *Fleet) Database() (string, error) {
	return host.DatabaseDSN(f.store.ServerDSN(), f.store.Database())
}

// Idle returns what processes cost that start and stop without work.
func (f *Fleet) Idle(ctx context.Context, slots int, report protocol.Report) (*record.Counters, error) {
	before, err := f.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.Start(ctx, slots, report); err != nil {
		return nil, err
	}
	if err := f.Stop(ctx); err != nil {
		return nil, err
	}
	after, err := f.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	cost, _ := measure.Delta(before, after)
	return &cost, nil
}

// Close kills what still runs, and removes the store.
func (f *Fleet) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	var errs []error
	if f.host != nil {
		errs = append(errs, f.host.Close(ctx))
	}
	if f.conn != nil {
		_ = f.conn.Close(ctx)
	}
	return errors.Join(append(errs, f.store.Close(ctx))...)
}
