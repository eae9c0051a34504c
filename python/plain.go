package python

import (
	"context"
	"encoding/json"
	"fmt"
)

// Outcome is how a workflow ended in Python itself, without any engine.
type Outcome struct {
	Status string          `json:"status"` // completed or failed
	Result json.RawMessage `json:"result"` // where completed
	Error  *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"` // where failed
}

// Run runs a workflow, given as FILE.py or FILE.py:Class, in Python itself, for as long as ctx lasts. The error is a *Refusal if
// the file or the input is not what it should be.
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
