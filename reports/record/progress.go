package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"pulley/internal/cause"
)

// ProgressFile is in a run's directory from the begin of the run until its record is there. Other programs follow the run by it.
const ProgressFile = "progress.json"

// The states of a run that is followed.
const (
	StateRunning     = "running"
	StateEnded       = "ended"
	StateFailed      = "failed"
	StateInterrupted = "interrupted"
)

// Progress is how far a run is. Its texts have no control characters.
type Progress struct {
	Schema    int       `json:"schema"`
	Kind      string    `json:"kind"` // the command: "compare"
	Command   []string  `json:"command"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	At        time.Time `json:"at"` // renewed every few seconds while the run lasts
	State     string    `json:"state"`
	Error     string    `json:"error"` // of a run that failed

	What     string   `json:"what"` // what is under way
	Detail   string   `json:"detail"`
	Done     float64  `json:"done"`
	Total    float64  `json:"total"` // 0: unknown
	Unit     string   `json:"unit"`  // of both: "runs"; "s" is time
	RatePerS *float64 `json:"rate_per_s"`
	LeftS    *float64 `json:"left_s"`

	Warning  string   `json:"warning"` // the last one
	Warnings int      `json:"warnings"`
	Lines    []string `json:"lines"` // what happened last, the newest at the end
}

// ProgressLines bounds the lines of a Progress, ProgressText each of its texts.
const (
	ProgressLines = 30
	ProgressText  = 500
)

// progressBytes bounds a progress file: it is read every second.
const progressBytes = 256 << 10

// WriteProgress replaces the progress file of dir as a whole. Nothing is synced to disk, since what is measured may use the disk:
// after a power failure, the file may be empty.
func WriteProgress(dir string, p *Progress) error {
	out := *p
	out.Schema = SchemaVersion
	out.Command, out.Lines = nonNil(p.Command), nonNil(p.Lines)
	path := filepath.Join(dir, ProgressFile)
	data, err := json.Marshal(&out)
	if err == nil {
		err = replaceUnsynced(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w%s", path, cause.Of(err), advice(err))
	}
	return nil
}

func replaceUnsynced(path string, data []byte) error {
	tmp, err := createBeside(path)
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// RemoveProgress removes the progress file of dir, if it is there.
func RemoveProgress(dir string) error {
	if err := os.Remove(filepath.Join(dir, ProgressFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// DecodeProgress reads and validates the content of a progress file.
func DecodeProgress(data []byte) (*Progress, error) {
	if len(data) > progressBytes {
		return nil, fmt.Errorf("is larger than %d bytes: not a file that pulley wrote", progressBytes)
	}
	var p Progress
	err := decodeHead(data)
	if err == nil {
		err = decodeStrict(data, &p)
	}
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// Validate checks the invariants of a progress.
func (p *Progress) Validate() error {
	switch {
	case p.Kind == "":
		return errors.New("a progress has no kind")
	case p.State != StateRunning && p.State != StateEnded && p.State != StateFailed && p.State != StateInterrupted:
		return fmt.Errorf("a progress has the state %q", p.State)
	case !isFigure(p.Done) || !isFigure(p.Total):
		return fmt.Errorf("a progress is %v of %v", p.Done, p.Total)
	case len(p.Lines) > ProgressLines:
		return fmt.Errorf("a progress has %d lines; there may be %d", len(p.Lines), ProgressLines)
	}
	for _, v := range []*float64{p.RatePerS, p.LeftS} {
		if v != nil && (!isFigure(*v) || math.IsNaN(*v)) {
			return fmt.Errorf("a progress has the figure %v", *v)
		}
	}
	return nil
}
