// Command probe shows, without pulley's adapter, what DBOS Transact for Go 1.8.0 does after three errors of Postgres:
//
//   - A queue takes a workflow, and the answer to the COMMIT is lost. The process repeats the transaction, which finds nothing more to
//     take. The workflow stays PENDING, and nobody executes it until a process of the same executor id starts.
//   - The statement that stores a step's result fails as the victim of a deadlock, once. The transaction is not repeated: the workflow
//     ends in ERROR, although its step succeeded.
//   - So does the statement that stores a workflow's result. The workflow stays PENDING, as above.
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
	"strings"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
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
	loseCommit(ctx, server.DSN())
	failStatement(ctx, server.DSN(), "operation_outputs", "a step's result")
	failStatement(ctx, server.DSN(), "workflow_output", "a workflow's result")
}

// must ends the program: it has no use after an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// loseCommit loses the answer to the COMMIT of a dequeue.
func loseCommit(ctx context.Context, dsn string) {
	fmt.Println("The answer to the COMMIT of a dequeue is lost:")
	var dequeues, lost atomic.Int32
	config, err := pgxpool.ParseConfig(dsn)
	must(err)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &losing{Conn: c, dequeues: &dequeues, lost: &lost}, err
	}
	c := launch(ctx, config)
	run(c, "lost")
	status := statusAfter(c, "lost")
	fmt.Printf("  answers lost: %d; %v later the workflow is %s\n", lost.Load(), wait, status)
	must(dbos.Shutdown(c, wait))
	c = launch(ctx, config)
	fmt.Printf("  after a restart with the same executor id it is %s\n", statusAfter(c, "lost"))
	must(dbos.Shutdown(c, wait))
}

// losing is a connection that closes when the answer to the first dequeue's COMMIT has come.
type losing struct {
	net.Conn
	dequeues, lost *atomic.Int32
	dequeued       bool
	committing     bool
}

func (c *losing) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("recovery_attempts = recovery_attempts + 1")) && c.dequeues.Add(1) == 1 {
		c.dequeued = true
	}
	c.committing = c.dequeued && bytes.Contains(bytes.ToLower(b), []byte("commit"))
	return c.Conn.Write(b)
}

func (c *losing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.committing && n > 0 {
		c.committing, c.dequeued = false, false
		c.lost.Add(1)
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// failStatement has the first insertion into a table fail like the victim of a deadlock.
func failStatement(ctx context.Context, dsn, table, what string) {
	fmt.Printf("The statement that stores %s is the victim of a deadlock, once:\n", what)
	config, err := pgxpool.ParseConfig(dsn)
	must(err)
	c := launch(ctx, config)
	conn, err := pgx.Connect(ctx, dsn)
	must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, strings.ReplaceAll(`
		CREATE SEQUENCE victims_TABLE;
		CREATE FUNCTION fail_TABLE() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('victims_TABLE') = 1 THEN RAISE SQLSTATE '40P01' USING MESSAGE = 'deadlock detected'; END IF;
			RETURN new;
		END $$;
		CREATE TRIGGER fail BEFORE INSERT ON dbos.TABLE FOR EACH ROW EXECUTE FUNCTION fail_TABLE()`, "TABLE", table))
	must(err)
	run(c, table)
	fmt.Printf("  the workflow is %s\n", statusAfter(c, table))
	must(dbos.Shutdown(c, wait))
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

func run(c dbos.Context, id string) {
	_, err := dbos.Enqueue[string](c, queueName, "workflow", "input", dbos.WithEnqueueWorkflowID(id))
	must(err)
}

// statusAfter returns the status of a workflow after a wait, or earlier if it has ended.
func statusAfter(c dbos.Context, id string) string {
	for until := time.Now().Add(wait); ; time.Sleep(100 * time.Millisecond) {
		found, err := dbos.ListWorkflows(c, dbos.WithFilterWorkflowIDs(id))
		must(err)
		if w := found[0]; w.Status == dbos.WorkflowStatusSuccess || w.Status == dbos.WorkflowStatusError || time.Now().After(until) {
			if w.Error != nil {
				return fmt.Sprintf("%s: %v", w.Status, w.Error)
			}
			return string(w.Status)
		}
	}
}
