package trial

import (
	"context"
	"fmt"
	"time"

	"pulley/adapter/host"
	"pulley/bench/measure"
	"pulley/internal/pause"
)

// Quiet is what the system did and took in a while without faults. What is of tasks is of those that finished; zero: none did, or the
// machine does not tell.
type Quiet struct {
	LastedMS         int64   `json:"lasted_ms"`
	Tasks            int     `json:"tasks"` // that finished
	TasksPerS        float64 `json:"tasks_per_s"`
	WritesPerTask    float64 `json:"writes_per_task"`     // transactions of the server that wrote
	WALBytesPerTask  float64 `json:"wal_bytes_per_task"`  // of the server
	ServerUSPerTask  float64 `json:"server_us_per_task"`  // processor time
	ProcessUSPerTask float64 `json:"process_us_per_task"` // of the adapter's processes and what they started
}

// Text is one line for people.
func (q *Quiet) Text() string {
	if q.Tasks == 0 {
		return "no task finished"
	}
	return fmt.Sprintf("%.0f tasks/s; of a task, %.2f transactions that wrote, %.2f kB of WAL, %.0f µs of processor time in the server, and %.0f in the system's processes",
		q.TasksPerS, q.WritesPerTask, q.WALBytesPerTask/1000, q.ServerUSPerTask, q.ProcessUSPerTask)
}

// serverWithin bounds what the server may take to connect and to tell its counters, twice.
const serverWithin = 20 * time.Second

// measureQuiet watches the system for the case's time.
func (r *run) measureQuiet(ctx context.Context) (*Quiet, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.QuietMS)*time.Millisecond+serverWithin)
	defer cancel()
	dsn, err := host.DatabaseDSN(r.world.store.ServerDSN(), r.world.store.Database())
	if err != nil {
		return nil, err
	}
	conn, err := measure.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	processors, scope := measure.NewProcessors(conn), measure.Scope{Database: true, Working: true}
	before, err := measure.Snapshot(ctx, conn, scope)
	if err != nil {
		return nil, err
	}
	begun, finished, used := time.Now(), r.history.countFinished(), processors.ReadOf(r.pids())
	if err := pause.For(ctx, time.Duration(r.QuietMS)*time.Millisecond); err != nil {
		return nil, err
	}
	q := &Quiet{Tasks: r.history.countFinished() - finished}
	spent, lasted := processors.ReadOf(r.pids()).Since(used), time.Since(begun)
	after, err := measure.Snapshot(ctx, conn, scope)
	if err != nil {
		return nil, err
	}
	q.LastedMS, q.TasksPerS = lasted.Milliseconds(), float64(q.Tasks)/lasted.Seconds()
	if q.Tasks == 0 {
		return q, nil
	}
	counted, _ := measure.Delta(before, after)
	perTask := func(n *int64) float64 {
		if n == nil {
			return 0
		}
		return max(float64(*n)/float64(q.Tasks), 0)
	}
	q.WritesPerTask, q.WALBytesPerTask = perTask(counted.WriteTransactions), perTask(counted.WALBytes)
	if spent != nil {
		q.ProcessUSPerTask = perTask(&spent.ProcessNS) / 1000
		q.ServerUSPerTask = perTask(spent.ServerNS) / 1000
	}
	return q, nil
}

// pids are the numbers of the processes that work.
func (r *run) pids() (pids []int) {
	for _, p := range r.world.places {
		if in := p.working(); in != nil {
			pids = append(pids, in.Pid())
		}
	}
	return pids
}

// quiet measures a quiet time, and warns if it could not. Nil: it could not, or the case has no such time.
func (r *run) quiet(ctx context.Context, when string) *Quiet {
	if r.QuietMS == 0 {
		return nil
	}
	r.config.say("it is left alone for %v, %s the faults", time.Duration(r.QuietMS)*time.Millisecond, when)
	q, err := r.measureQuiet(ctx)
	if err != nil && ctx.Err() == nil {
		r.result.warn("what it does %s the faults was not measured: %v", when, err)
	}
	return q
}
