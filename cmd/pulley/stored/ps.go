package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/inspect"
	"pulley/internal/aligned"
	"pulley/internal/clip"
)

// PsCmd is pulley ps.
type PsCmd struct {
	console.StoreFlags
	Workflow            string      `placeholder:"NAME" help:"Only instances of workflows of that name, which is the file that was submitted, with or without its directory."`
	Status              string      `enum:"running,completed,failed,canceled,any" default:"any" help:"Only instances with that status: running, completed, failed or canceled. Default: any."`
	Older               console.Age `placeholder:"TIME" help:"Only instances submitted longer ago, such as 1h or 7d."`
	Younger             console.Age `placeholder:"TIME" help:"Only instances submitted since then, such as 24h or 7d."`
	Count               int         `default:"50" placeholder:"N" help:"Instances at most, up to 1000. Default: 50."`
	After               string      `placeholder:"ID" help:"Continue behind that instance: the next page."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

// Help completes the command's help.
func (PsCmd) Help() string {
	return "Instances come in the order of their ids, the greatest first: those with ids that pulley made are by time, the newest first; ids of keys are in no order. " +
		"A page ends after --count instances, or after a bounded number was looked at; then it says how to continue.\n\n" +
		"Node runs of running instances are counted up to 1000: done, running (leased by an engine) and waiting. A dash stands for what the design does not keep: push what is done, " +
		"journal everything, which is in the memory of an engine; pulley show asks that.\n\n" +
		`With --format json it prints {"instances":[{"id","workflow","status","error","submitted","ended","nodes":{"done","running","waiting"}|null}],"next":ID|null}.` +
		"\n\nExit status: 0, or 2 if the database cannot be used.\n\nExample: pulley ps --status running --older 1h --dsn postgres://me@localhost/work"
}

// countMost bounds the counted node runs of an instance.
const countMost = 1000

// limitMax bounds a page.
const limitMax = 1000

type listed struct {
	ID        uuid.UUID      `json:"id"`
	Workflow  string         `json:"workflow"`
	Status    backend.Status `json:"status"`
	Error     string         `json:"error,omitempty"`
	Submitted time.Time      `json:"submitted"`
	Ended     *time.Time     `json:"ended"`
	Nodes     *nodeCounts    `json:"nodes"`
}

type nodeCounts struct {
	Done    *int `json:"done"`
	Running int  `json:"running"`
	Waiting int  `json:"waiting"`
}

type list struct {
	Instances []listed   `json:"instances"`
	Next      *uuid.UUID `json:"next"`
}

// Run lists instances.
func (r *PsCmd) Run(c *console.Console) error {
	f := backend.Filter{Workflow: r.Workflow, Most: r.Count, CountMost: countMost}
	if r.Status != "any" {
		f.Status = backend.Status(r.Status)
	}
	switch {
	case r.Timeout <= 0:
		return ErrTimeout(r.Timeout)
	case r.Count < 1 || r.Count > limitMax:
		return fmt.Errorf("--count %d: choose from 1 to %d", r.Count, limitMax)
	case r.Older < 0 || r.Younger < 0:
		return errors.New("--older and --younger take positive times, such as 1h")
	}
	if r.After != "" {
		var err error
		if f.After, err = ParseID(r.After); err != nil {
			return fmt.Errorf("--after: %w", err)
		}
	}
	now := time.Now()
	if r.Older > 0 {
		f.Before = now.Add(-r.Older.Duration())
	}
	if r.Younger > 0 {
		f.Since = now.Add(-r.Younger.Duration())
	}
	ctx, stop := console.Interruptible()
	defer stop()
	var page backend.Page
	err := withInspector(ctx, &r.StoreFlags, r.Timeout, "pulley ps", func(ctx context.Context, store backend.Inspector) (err error) {
		page, err = store.List(ctx, f)
		return err
	})
	if err != nil {
		return console.Ended(ctx, err)
	}
	if page.Next != uuid.Nil && !r.JSON() {
		defer c.Say("pulley: there may be more: --after %s", page.Next)
	}
	return c.PrintAs(r.FormatFlag, listOf(page), table(page))
}

func listOf(page backend.Page) list {
	out := list{Instances: []listed{}}
	for _, in := range page.Instances {
		one := listed{ID: in.ID, Workflow: in.Workflow, Status: in.Status, Error: in.Failure, Submitted: in.Submitted}
		if !in.Ended.IsZero() {
			one.Ended = &in.Ended
		}
		if n := in.Counts; n != nil {
			one.Nodes = &nodeCounts{n.Done, n.Running, n.Waiting}
		}
		out.Instances = append(out.Instances, one)
	}
	if page.Next != uuid.Nil {
		out.Next = &page.Next
	}
	return out
}

// nameMax bounds the name of a workflow, and the type of an error, in a table.
const nameMax = 40

func table(page backend.Page) string {
	rows := [][]string{{"ID", "STATUS", "WORKFLOW", "AGE", "DONE", "RUNNING", "WAITING", "ERROR"}}
	for _, in := range page.Instances {
		row := []string{in.ID.String(), string(in.Status), end(in.Workflow, nameMax), inspect.Pause(page.Now.Sub(in.Submitted))}
		rows = append(rows, append(append(row, countCells(in.Counts)...), short(in.Failure, nameMax)))
	}
	var b bytes.Buffer
	aligned.Write(&b, rows, func(column int) bool { return column < 3 || column == 7 })
	return b.String()
}

// countCells are the cells of done, running and waiting node runs; n may be nil.
func countCells(n *backend.RunCounts) []string {
	cells := []string{"-", "-", "-"}
	if n == nil {
		return cells
	}
	if n.Done != nil {
		cells[0] = counted(*n.Done)
	}
	cells[1], cells[2] = counted(n.Running), counted(n.Waiting)
	return cells
}

func counted(n int) string {
	if n >= countMost {
		return strconv.Itoa(countMost) + "+"
	}
	return strconv.Itoa(n)
}

// short makes a text from a store fit for a cell of a terminal.
func short(text string, most int) string { return clip.Runes(console.OneLine(text), most) }

// end is short that keeps the end, which tells files apart.
func end(text string, most int) string {
	if r := []rune(console.OneLine(text)); len(r) > most {
		return "…" + string(r[len(r)-most:])
	}
	return console.OneLine(text)
}
