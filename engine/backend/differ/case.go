package differ

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"pulley/engine/ir/programs"
)

// Case is one run with everything that it needs. It uses the built-in actions, which behave as their arguments say.
type Case struct {
	Why     string `json:"why,omitempty"`     // what it shows, or what went wrong
	Backend string `json:"backend,omitempty"` // on which it did; empty: on all
	programs.Program
	Schedule Schedule `json:"schedule,omitzero"`
}

// Schedule determines the order of events and the faults. The zero value completes one task after the other, in the order in
// which they were handed out.
type Schedule struct {
	Seed  uint64 `json:"seed,omitempty"`  // of all choices; zero keeps the order
	Batch int    `json:"batch,omitempty"` // maximal completions of a call; zero: one

	// Frequencies of faults, in percent.
	Duplicates int `json:"duplicates,omitempty"` // a completion is offered again
	Losses     int `json:"losses,omitempty"`
	Crashes    int `json:"crashes,omitempty"`
}

// Load reads a case from a file.
func Load(file string) (Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Case{}, err
	}
	var c Case
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Case{}, fmt.Errorf("case %s: %w", file, err)
	}
	return c, nil
}

// Save writes a case to a file.
func (c Case) Save(file string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}
