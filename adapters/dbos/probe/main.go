// Command probe shows, without pulley's adapter, what DBOS Transact for Go 1.8.0 does when it loses one connection to Postgres:
//
//   - while it awaits the answer to the COMMIT by which a queue's workflow is taken. The workflow is PENDING by then, so the next look
//     of the queue does not find it, and nobody executes it until a process of the same executor id starts;
//   - while it stores a step's result. pgx's error is io.ErrUnexpectedEOF, which DBOS does not take for one of a connection. So it does
//     not repeat the transaction, and the workflow ends in ERROR, although the step succeeded and had retries left;
//   - while it stores a workflow's result. Nor is this repeated, and the workflow stays PENDING.
//
// It takes half a minute, and prints what happened. docs/findings.md tells the story.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/pgserver"
)

const (
	wait      = 10 * time.Second // much longer than a queue's polling interval
	queueName = "queue"
)

func main() {
	ctx := context.Background()
	server, err := pgserver.Open(ctx, pgserver.Options{})
	must(err)
	defer server.Close(ctx)
	for _, l := range []*loss{
		{name: "taking-a-workflow", at: "recovery_attempts = recovery_attempts + 1", commit: true},
		{name: "storing-a-step", at: "operation_outputs ("},
		{name: "storing-a-workflow", at: "workflow_output ("},
	} {
		try(ctx, server.DSN(), l)
	}
}

// must ends the program: it has no use after an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// try executes a workflow whose process loses a connection, and restarts the process if the workflow stays open.
func try(ctx context.Context, dsn string, l *loss) {
	config, err := pgxpool.ParseConfig(dsn)
	must(err)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &losing{Conn: c, loss: l}, err
	}
	c := launch(ctx, config)
	_, err = dbos.Enqueue[string](c, queueName, "workflow", "input", dbos.WithEnqueueWorkflowID(l.name))
	must(err)
	status, ended := statusOf(c, l.name)
	fmt.Printf("%s: connections lost: %v, and the workflow is %s\n", l.name, l.happened.Load(), status)
	must(dbos.Shutdown(c, wait))
	if ended {
		return
	}
	c = launch(ctx, config)
	status, _ = statusOf(c, l.name)
	fmt.Printf("%s: after a restart it is %s\n", l.name, status)
	must(dbos.Shutdown(c, wait))
}

// loss is how a connection is lost: once, instead of the answer to the first statement that has a text, or to the COMMIT after it.
type loss struct {
	name, at string
	commit   bool
	begun    atomic.Bool
	happened atomic.Bool
}

// losing is a connection that may be lost.
type losing struct {
	net.Conn
	loss *loss
	mine bool // it has sent the statement
	now  bool // it awaits the answer that is lost
}

func (c *losing) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.loss.at)) && c.loss.begun.CompareAndSwap(false, true) {
		c.mine = true
	}
	c.now = c.mine && (!c.loss.commit || bytes.Contains(bytes.ToLower(b), []byte("commit")))
	return c.Conn.Write(b)
}

func (c *losing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.now && n > 0 {
		c.loss.happened.Store(true)
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// launch starts an executor on a pool of its own, which Shutdown closes.
func launch(ctx context.Context, config *pgxpool.Config) dbos.Context {
	pool, err := pgxpool.NewWithConfig(ctx, config.Copy())
	must(err)
	c, err := dbos.NewContext(ctx, dbos.Config{
		AppName: "probe", ApplicationVersion: "1", ExecutorID: "one", SystemDBPool: pool, Logger: slog.New(slog.DiscardHandler),
	})
	must(err)
	dbos.RegisterWorkflow(c, workflow, dbos.WithWorkflowName("workflow"))
	_, err = dbos.RegisterQueue(c, queueName, dbos.WithQueueBasePollingInterval(100*time.Millisecond))
	must(err)
	must(dbos.Launch(c))
	return c
}

func workflow(ctx dbos.Context, input string) (string, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return input, nil }, dbos.WithStepMaxRetries(3))
}

// statusOf returns the status of a workflow when it has ended, or after a wait.
func statusOf(c dbos.Context, id string) (status string, ended bool) {
	for until := time.Now().Add(wait); ; time.Sleep(100 * time.Millisecond) {
		found, err := dbos.ListWorkflows(c, dbos.WithFilterWorkflowIDs(id))
		must(err)
		switch w := found[0]; {
		case w.Status == dbos.WorkflowStatusError:
			return fmt.Sprintf("%s: %v", w.Status, w.Error), true
		case w.Status == dbos.WorkflowStatusSuccess:
			return string(w.Status), true
		case time.Now().After(until):
			return fmt.Sprintf("%s after %v", w.Status, wait), false
		}
	}
}
