package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"pulley/reports/record"
)

// Schema is the version of a line.
const Schema = 1

// Run is a line: the result of one workload on one design, at one revision on one machine.
type Run struct {
	Schema int `json:"schema"`
	// ID identifies a run of a record, so that it is not appended twice. Append sets it.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Revision is the measured commit; empty if unknown. Modified means that the source differed from it.
	Revision string `json:"revision"`
	Modified bool   `json:"modified"`
	// of a benchmark's file only system and processor
	Host record.Host `json:"host"`
	// the database and its durability; empty for none
	Server string `json:"server"`

	// a scenario's name, or a benchmark's package and name
	Scenario string `json:"scenario"`
	// Design is the scheduler with its options, Size the scenario's parameter, Mode how instances came; empty and 0 for
	// benchmarks.
	Design string `json:"design"`
	Size   int    `json:"size"`
	Mode   string `json:"mode"`
	// the concurrency, as part of a series' identity; empty if unknown
	Load string `json:"load"`

	// number of measurements; figures are their medians
	Repetitions int      `json:"repetitions"`
	Figures     []Figure `json:"figures"`
}

// Figure is one measured value.
type Figure struct {
	// Name ends with the unit: "hop_p50_ns"; of benchmarks it is the unit: "sec/op".
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// "higher", "lower", or empty if unknown
	Better string `json:"better"`
}

const (
	higher = "higher"
	lower  = "lower"
)

// identity makes the ID. It includes the figures, since the time of a benchmark's file may only be known to the second.
func (r Run) identity() string {
	r.Schema, r.ID, r.Time = 0, "", r.Time.UTC()
	raw, err := json.Marshal(r)
	if err != nil {
		return "" // unreachable: Validate rejects what cannot be encoded
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Validate reports what makes a run unfit to be written or believed.
func (r *Run) Validate() error {
	switch {
	case r.Schema != Schema:
		return fmt.Errorf("schema %d is not known here, only %d", r.Schema, Schema)
	case r.Scenario == "":
		return errors.New("has no scenario")
	case r.Time.IsZero():
		return errors.New("has no time")
	case r.Host.OS == "" && r.Host.Arch == "" && r.Host.CPU == "":
		return errors.New("does not say on which machine it was made")
	case r.Size < 0 || r.Repetitions < 1:
		return fmt.Errorf("size %d, %d repetitions: cannot be", r.Size, r.Repetitions)
	case len(r.Figures) == 0:
		return errors.New("has no figures")
	}
	seen := map[string]bool{}
	for _, f := range r.Figures {
		switch {
		case f.Name == "" || seen[f.Name]:
			return fmt.Errorf("figure %q has no name, or stands twice", f.Name)
		case math.IsNaN(f.Value) || math.IsInf(f.Value, 0):
			return fmt.Errorf("figure %s is %v", f.Name, f.Value)
		case f.Better != "" && f.Better != higher && f.Better != lower:
			return fmt.Errorf("figure %s is better %q: there are higher, lower and nothing", f.Name, f.Better)
		}
		seen[f.Name] = true
	}
	return nil
}
