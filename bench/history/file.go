package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"pulley/internal/cause"
)

// The files in a directory: the history itself, and a report on it that pulley history wrote.
const (
	FileName   = "history.ndjson"
	ReportFile = "history.json"
)

const (
	// fileMax keeps a wrong path from exhausting memory.
	fileMax = 1 << 30
	// lockWait bounds Append's wait for other writers, which take milliseconds.
	lockWait  = time.Minute
	lockPause = 5 * time.Millisecond
)

// Skipped is a line that does not count, with the reason.
type Skipped struct {
	Line int    `json:"line"` // from 1
	Why  string `json:"why"`
}

// Read reads the history at path, or FileName in the directory at path. It skips and reports lines that are not runs. Of runs
// with one ID the first counts. The error is one line that names the path.
func Read(path string) ([]Run, []Skipped, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	runs, skipped := Parse(data)
	return runs, skipped, nil
}

// ReadReport reads the report on a history at path. The error is one line that names the path.
func ReadReport(path string) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil || r.Schema == 0 || r.Series == nil {
		return nil, fmt.Errorf("read %s: it is no report that pulley history wrote", path)
	}
	return &r, nil
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, fileMax+1))
	if err == nil && len(data) > fileMax {
		err = fmt.Errorf("is larger than %d bytes: not a history", fileMax)
	}
	return data, err
}

// Parse parses the content of a history.
func Parse(data []byte) ([]Run, []Skipped) {
	var runs []Run
	var skipped []Skipped
	seen := map[string]bool{}
	for n, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		r, err := parseLine(line)
		switch {
		case err != nil:
			skipped = append(skipped, Skipped{n + 1, err.Error()})
		case !seen[r.ID]:
			seen[r.ID] = true
			runs = append(runs, r)
		}
	}
	return runs, skipped
}

func parseLine(line []byte) (Run, error) {
	var r Run
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return r, errors.New("is torn: it has no end")
		}
		return r, fmt.Errorf("is not a run: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return r, errors.New("has something behind its end")
	}
	if err := r.Validate(); err != nil {
		return r, err
	}
	if r.ID != r.identity() {
		return r, errors.New("was changed after it was written: its id does not fit")
	}
	return r, nil
}

// Append adds runs to the history at path, which it creates with its directory if missing. It returns the number of new runs;
// the others are already there. It writes all or none, except that a crash or a full disk may leave a torn line, which Read
// skips. Writers wait for each other for up to a minute.
func Append(path string, runs []Run) (added int, err error) {
	lines := make([]Run, len(runs))
	for i, r := range runs {
		r.Schema, r.Time = Schema, r.Time.UTC()
		r.ID = r.identity()
		if err := r.Validate(); err != nil {
			return 0, fmt.Errorf("append to %s: run %d (%s): %w", path, i+1, r.Scenario, err)
		}
		lines[i] = r
	}
	if added, err = appendLines(path, lines); err != nil {
		return 0, fmt.Errorf("append to %s: %w", path, cause.Of(err))
	}
	return added, nil
}

func appendLines(path string, runs []Run) (int, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := lockWithin(f, lockWait); err != nil {
		return 0, err
	}
	before, err := readAll(f)
	if err != nil {
		return 0, err
	}
	known := map[string]bool{}
	old, _ := Parse(before)
	for _, r := range old {
		known[r.ID] = true
	}
	var b bytes.Buffer
	if len(before) > 0 && before[len(before)-1] != '\n' {
		b.WriteByte('\n') // ends a torn line before ours
	}
	added := 0
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range runs {
		if known[r.ID] {
			continue
		}
		known[r.ID] = true
		if err := enc.Encode(r); err != nil {
			return 0, err
		}
		added++
	}
	if added == 0 {
		return 0, nil
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return added, f.Sync()
}

func lockWithin(f *os.File, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(lockPause) {
		locked, err := tryLock(f)
		if err != nil || locked {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("another program has it locked for more than %s; try again when it has ended", wait)
		}
	}
}
