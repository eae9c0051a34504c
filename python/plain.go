package python

import (
	"context"
	"encoding/json"
	"fmt"
)

// Outcome is a workflow's end in Python itself, without an engine.
type Outcome struct {
	Status string          `json:"status"` // completed or failed
	Result json.RawMessage `json:"result"` // if completed
	Error  *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"` // if failed
}

// Run runs a workflow, FILE.py or FILE.py:Class, in Python itself. The error is a *Refusal for an invalid file or input.
func (i *Interpreter) Run(ctx context.Context, target string, input []byte) (*Outcome, error) {
	got, err := i.ask(ctx, input, "run", target, "--input", "-", "--format", "json")
	if err != nil {
		return nil, err
	}
	if got.code != 0 && got.code != 1 {
		return nil, refusal(lastLine(got.errors), fmt.Sprintf("%s: Python ended with status %d", target, got.code))
	}
	o := &Outcome{}
	if err := json.Unmarshal([]byte(got.out), o); err != nil {
		return nil, fmt.Errorf("%s: what Python wrote cannot be read: %w", target, err)
	}
	return o, nil
}
