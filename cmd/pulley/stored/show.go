package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/inspect"
	"pulley/internal/aligned"
	"pulley/internal/plural"
)

// ShowCmd is pulley show.
type ShowCmd struct {
	ID string `arg:"" name:"id" help:"The instance's id."`
	console.StoreFlags
	Past                bool `help:"Also list the node runs that have ended, with their results and errors: of a running instance, in pull, which keeps them until it ends."`
	console.TimeoutFlag `set:"wait=1m" set:"answer=the database"`
	console.FormatFlag
}

// Help completes the command's help.
func (ShowCmd) Help() string {
	return "It prints the instance: its input, its result or error, what it waits for, its graph with where it stands in it, and its node runs that have not ended, " +
		"with their attempts. Long values are cut short; --format json has them whole. What has ended of a running instance is counted in pull and eager only, and of an ended instance no design keeps more " +
		"than its result or error.\n\n" +
		"Exit status: 0, or 2 if there is no such instance or it cannot be reached.\n\nExample: pulley show 01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6 --dsn postgres://me@localhost/work"
}

type shown struct {
	ID        uuid.UUID           `json:"id"`
	Workflow  string              `json:"workflow"`
	Priority  int                 `json:"priority,omitempty"`
	Status    backend.Status      `json:"status"`
	Submitted time.Time           `json:"submitted"`
	Ended     *time.Time          `json:"ended"`
	Now       time.Time           `json:"now"`
	Input     json.RawMessage     `json:"input"`
	Result    json.RawMessage     `json:"result"`
	Error     *failure            `json:"error"`
	Why       inspect.Explanation `json:"why"`
	Nodes     []shownNode         `json:"nodes"` // null: this pulley cannot read the workflow
	History   []pastRun           `json:"history,omitempty"`
}

type pastRun struct {
	Node    string          `json:"node"`
	Attempt int             `json:"attempt"`
	Result  json.RawMessage `json:"result"`
	Error   *failure        `json:"error"`
}

// historyMax bounds the node runs that --past lists: the last ones.
const historyMax = 1000

type shownNode struct {
	Name    string     `json:"name"`
	Kind    graph.Kind `json:"kind"`
	Action  string     `json:"action,omitempty"`
	Done    *int       `json:"done"` // null: the design does not keep it
	Running int        `json:"running"`
	Waiting int        `json:"waiting"`
	Ways    []string   `json:"ways"` // the nodes that may follow
}

// Run shows the instance.
func (r *ShowCmd) Run(c *console.Console) error {
	s, err := inspected(&r.StoreFlags, r.Timeout, r.ID, "pulley show")
	if err != nil {
		return err
	}
	var history []pastRun
	if r.Past {
		if history, err = r.history(s); err != nil {
			return err
		}
	}
	if r.JSON() {
		out := shownOf(s)
		out.History = history
		return c.PrintAs(r.FormatFlag, out, "")
	}
	return c.Print(drawn(s) + pastTable(history))
}

func (r *ShowCmd) history(s backend.Snapshot) ([]pastRun, error) {
	if s.Status != backend.Running {
		return nil, fmt.Errorf("instance %s has ended: no design keeps its node runs", s.ID)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	var found []backend.CompletedRun
	err := withExisting(ctx, &r.StoreFlags, r.Timeout, "pulley show", func(ctx context.Context, p place, store backend.Backend) (err error) {
		keeps, ok := store.(backend.Historian)
		if !ok {
			return fmt.Errorf("backend %s does not keep node runs that have ended, or cannot find them by their instance; of these designs pull does", p.spec)
		}
		found, err = keeps.History(ctx, s.ID, historyMax)
		return err
	})
	if err != nil {
		return nil, console.Ended(ctx, err)
	}
	out := make([]pastRun, len(found))
	for i, f := range found {
		out[i] = pastRun{Node: inspect.NameOf(s, f.Run), Attempt: f.Attempt, Result: f.Result, Error: failureOf(f.Failure)}
	}
	return out, nil
}

// resultMax bounds a result in a table.
const resultMax = 100

func pastTable(history []pastRun) string {
	if len(history) == 0 {
		return ""
	}
	rows := [][]string{{"ENDED", "ATTEMPT", "RESULT OR ERROR"}}
	for _, h := range history {
		value := string(h.Result)
		if h.Error != nil {
			value = "failed: " + h.Error.Type + ": " + h.Error.Message
		}
		rows = append(rows, []string{short(h.Node, nameMax), strconv.Itoa(h.Attempt), short(value, resultMax)})
	}
	var b bytes.Buffer
	b.WriteByte('\n')
	aligned.Write(&b, rows, func(int) bool { return true })
	return b.String()
}

func shownOf(s backend.Snapshot) shown {
	out := shown{
		ID: s.ID, Workflow: workflowOf(s), Status: s.Status, Submitted: s.Submitted, Now: s.Now, Input: s.Input, Result: s.Result,
		Error: failureOf(s.Failure), Why: inspect.Explain(s),
	}
	if !s.Ended.IsZero() {
		out.Ended = &s.Ended
	}
	if s.Program == nil {
		return out
	}
	out.Priority = s.Program.Priority()
	g := s.Program.Graph()
	for _, n := range g.Nodes {
		one := shownNode{Name: n.Name, Kind: n.Kind, Action: n.Action, Ways: []string{}}
		one.Running, one.Waiting = inspect.OpenAt(s, n.ID)
		if s.Done != nil {
			one.Done = new(s.Done[n.ID])
		}
		for _, e := range g.Edges {
			if e.From == n.ID {
				one.Ways = append(one.Ways, g.Nodes[e.To].Name)
			}
		}
		out.Nodes = append(out.Nodes, one)
	}
	return out
}

func workflowOf(s backend.Snapshot) string {
	if s.Program == nil {
		return ""
	}
	return s.Program.Graph().Name
}

// Bounds of what is shown of values and node runs.
const (
	valueMax = 300
	runsMax  = 20
)

func drawn(s backend.Snapshot) string {
	e := inspect.Explain(s)
	var b bytes.Buffer
	line := func(name, value string) { fmt.Fprintf(&b, "%-10s %s\n", name, value) }
	line("instance", s.ID.String())
	if s.Program == nil {
		line("workflow", "this pulley cannot read it; a later version may have stored it")
	} else {
		line("workflow", short(workflowOf(s), valueMax))
		if n := s.Program.Priority(); n > 0 {
			line("priority", strconv.Itoa(n))
		}
	}
	end := s.Now
	if !s.Ended.IsZero() {
		end = s.Ended
	}
	line("status", fmt.Sprintf("%s, after %s", s.Status, inspect.Pause(end.Sub(s.Submitted))))
	line("submitted", inspect.Moment(s.Submitted))
	line("input", short(string(s.Input), valueMax))
	if s.Result != nil {
		line("result", short(string(s.Result), valueMax))
	}
	if s.Failure != nil {
		line("error", short(s.Failure.String(), valueMax))
	}
	line("why", console.OneLine(e.Sentence))
	if s.Program != nil {
		b.WriteString("\n" + cleanLines(s.Program.Graph().TextWith(func(n *graph.Node) string { return inspect.Standing(s, n) })))
	}
	if len(s.Runs) > 0 {
		b.WriteString("\n" + openRuns(e))
	}
	return b.String()
}

// cleanLines makes a text from a store fit for a terminal, line by line.
func cleanLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		b.WriteString(line[:indent] + console.OneLine(line) + "\n")
	}
	return b.String()
}

func openRuns(e inspect.Explanation) string {
	rows := [][]string{{"NODE RUN", "WAITS FOR", "SINCE OR UNTIL", "ATTEMPT", "ENGINE"}}
	more := 0
	for _, w := range e.Waits {
		if w.Attempt == 0 {
			continue // a barrier, or the shard's owner
		}
		if len(rows) > runsMax {
			more++
			continue
		}
		attempt := strconv.Itoa(w.Attempt)
		if w.Attempts > 1 {
			attempt += " of " + strconv.Itoa(w.Attempts)
		}
		rows = append(rows, []string{short(w.Node, nameMax), string(w.Reason), moment(w), attempt, short(w.Engine, nameMax)})
	}
	var b bytes.Buffer
	aligned.Write(&b, rows, func(int) bool { return true })
	if more > 0 {
		fmt.Fprintf(&b, "  and %s\n", plural.Of(more, "more node run"))
	}
	return b.String()
}

func moment(w inspect.Wait) string {
	switch {
	case w.Until != nil:
		return inspect.Moment(*w.Until)
	case w.Since != nil:
		return inspect.Moment(*w.Since)
	}
	return ""
}
