package stored

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// Outcome is the end of an instance as JSON.
type Outcome struct {
	Status backend.Status  `json:"status"`
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
}

type failure struct {
	Type     string `json:"type"`
	Message  string `json:"message"`
	Action   string `json:"action"`   // empty if an expression failed
	Position string `json:"position"` // file:line:col; empty if cancelled
}

// Words returns the end of an instance as commands print it.
func Words(in backend.Instance, format string) (string, error) {
	switch {
	case format == "text" && in.Status == backend.Canceled && in.Failure != nil:
		return "canceled: " + console.OneLine(in.Failure.Message) + "\n", nil
	case format == "text" && in.Failure != nil:
		return fmt.Sprintf("%s: %s\n", in.Status, console.OneLine(in.Failure.String())), nil
	case format == "text":
		return fmt.Sprintf("%s: %s\n", in.Status, console.OneLine(string(in.Result))), nil
	}
	out := Outcome{Status: in.Status, Result: in.Result, Error: failureOf(in.Failure)}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return "", fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	return string(console.EscapeJSON(b.Bytes())), nil
}

func failureOf(f *plan.Failure) *failure {
	if f == nil {
		return nil
	}
	out := &failure{Type: f.Type, Message: f.Message, Action: f.Action}
	if f.Pos != (ir.Pos{}) {
		out.Position = f.Pos.String()
	}
	return out
}
