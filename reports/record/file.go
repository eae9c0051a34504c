package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"pulley/internal/cause"
)

// The files in a run's directory.
const (
	SummaryFile  = "summary.json"
	ManifestFile = "manifest.json"
	SamplesFile  = "samples.ndjson"
	ReportFile   = "report.html"
	// HopFile and InstanceFile are logs of histograms of latencies, one for each row of the summary.
	HopFile      = "hop.hlog"
	InstanceFile = "instance.hlog"
)

// A wrong path must not exhaust memory.
const maxFileBytes = 1 << 30

// WriteSummary validates s and writes summary.json in dir, which it creates if needed.
func WriteSummary(dir string, s *Summary) error {
	out := *s
	out.Schema = SchemaVersion
	out.Rows = make([]Row, len(s.Rows))
	for i, r := range s.Rows {
		r.Warnings = nonNil(r.Warnings)
		out.Rows[i] = r
	}
	out.Notes, out.Claims = nonNil(s.Notes), nonNil(s.Claims)
	out.Ceilings, out.Differences = s.Ceilings.normal(), nonNil(s.Differences)
	return writeJSON(filepath.Join(dir, SummaryFile), &out, out.Validate)
}

// WriteManifest validates m and writes manifest.json in dir, which it creates if needed.
func WriteManifest(dir string, m *Manifest) error {
	out := *m
	out.Schema = SchemaVersion
	out.Command, out.Scenarios, out.Sizes = nonNil(m.Command), nonNil(m.Scenarios), nonNil(m.Sizes)
	out.Backends, out.Cases, out.Methods = nonNil(m.Backends), nonNil(m.Cases), nonNil(m.Methods)
	out.Warnings, out.Samples = nonNil(m.Warnings), normalSamples(m.Samples)
	return writeJSON(filepath.Join(dir, ManifestFile), &out, out.Validate)
}

// sampleLine has the schema, since lines are read separately.
type sampleLine struct {
	Schema int `json:"schema"`
	Sample
}

// WriteSamples writes samples.ndjson in dir, one object per line.
func WriteSamples(dir string, samples []Sample) error {
	path := filepath.Join(dir, SamplesFile)
	if err := validateSamples(samples); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, func(w io.Writer) error {
		enc := newEncoder(w)
		for _, s := range normalSamples(samples) {
			if err := enc.Encode(sampleLine{SchemaVersion, s}); err != nil {
				return err
			}
		}
		return nil
	})
}

// normalSamples replaces nil lists by empty ones: null means unmeasured.
func normalSamples(samples []Sample) []Sample {
	out := make([]Sample, len(samples))
	for i, s := range samples {
		s.InstanceNS, s.Warnings = nonNil(s.InstanceNS), nonNil(s.Warnings)
		out[i] = s
	}
	return out
}

func (c *Ceilings) normal() *Ceilings {
	if c == nil {
		return nil
	}
	out := *c
	out.Rates, out.Idle, out.Warnings = nonNil(c.Rates), nonNil(c.Idle), nonNil(c.Warnings)
	return &out
}

// EncodeCeilings validates a report and writes it as indented JSON.
func EncodeCeilings(w io.Writer, r *CeilingReport) error {
	if r.Ceilings == nil {
		return errors.New("a report on ceilings has none")
	}
	if err := r.Ceilings.Validate(); err != nil {
		return err
	}
	out := *r
	out.Schema, out.Ceilings = SchemaVersion, r.Ceilings.normal()
	out.Command, out.Methods = nonNil(r.Command), nonNil(r.Methods)
	enc := newEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}

// CeilingFile is the file of a report on ceilings.
const CeilingFile = "ceiling.json"

// ReadCeilings reads and validates a ceiling.json.
func ReadCeilings(path string) (*CeilingReport, error) {
	var r CeilingReport
	validate := func() error {
		if r.Ceilings == nil {
			return errors.New("a report on ceilings has none")
		}
		return r.Ceilings.Validate()
	}
	if err := readJSON(path, &r, validate); err != nil {
		return nil, err
	}
	return &r, nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

func writeJSON(path string, v any, validate func() error) error {
	if err := validate(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, func(w io.Writer) error {
		enc := newEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

// WriteFile puts write's output at path, whole or not at all; it creates the directory if needed. When it returns nil, the
// content is on disk. Otherwise path is unchanged, and the error is one line that names it.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := writeFile(path, write); err != nil {
		return fmt.Errorf("write %s: %w%s", path, cause.Of(err), advice(err))
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("is a directory")
	}
	tmp, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close() // fails if already closed
			os.Remove(tmp.Name())
		}
	}()
	buf := bufio.NewWriterSize(tmp, 1<<16)
	if err := write(buf); err != nil {
		return err
	}
	if err := errors.Join(buf.Flush(), tmp.Sync()); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

var tempCount atomic.Int64

// createBeside opens a temporary file in path's directory, because a rename is atomic only within one file system. It respects
// the user's umask, unlike os.CreateTemp.
func createBeside(path string) (*os.File, error) {
	name := fmt.Sprintf(".%s.tmp-%d-%d", filepath.Base(path), os.Getpid(), tempCount.Add(1))
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

// syncDir makes a rename durable, if the file system can sync directories.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": free some space or choose another directory"
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return ": choose a directory that you may write to"
	}
	return ""
}

// ReadSummary reads and validates a summary.json.
func ReadSummary(path string) (*Summary, error) {
	var s Summary
	if err := readJSON(path, &s, s.Validate); err != nil {
		return nil, err
	}
	return &s, nil
}

// ReadManifest reads and validates a manifest.json.
func ReadManifest(path string) (*Manifest, error) {
	var m Manifest
	if err := readJSON(path, &m, m.Validate); err != nil {
		return nil, err
	}
	return &m, nil
}

func readJSON(path string, into any, validate func() error) error {
	data, err := readBounded(path)
	if err != nil {
		return err
	}
	err = decodeHead(data)
	if err == nil {
		err = decodeStrict(data, into)
	}
	if err == nil {
		err = validate()
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// readLoosely reads a file that has no schema. Unknown fields are those of another version.
func readLoosely(path string, into any) error {
	data, err := readBounded(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: is not what pulley writes: %w", path, err)
	}
	return nil
}

// decodeHead checks the version before the fields: a newer file is rejected for its version, not for a new field.
func decodeHead(data []byte) error {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("is not what pulley writes: %w", err)
	}
	if head.Schema == nil {
		return errors.New("has no schema field: not a file that pulley wrote")
	}
	return checkSchema(*head.Schema)
}

// ReadSamples reads and validates a samples.ndjson.
func ReadSamples(path string) ([]Sample, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	var samples []Sample
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var s sampleLine
		err := decodeHead(line)
		if err == nil {
			err = decodeStrict(line, &s)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s:%d: %w", path, n+1, err)
		}
		samples = append(samples, s.Sample)
	}
	if err := validateSamples(samples); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return samples, nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read %s: larger than %d bytes: not a file that pulley wrote", path, maxFileBytes)
	}
	return data, nil
}

func decodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("does not fit schemas %d to %d: %w", oldestSchema, SchemaVersion, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("has something after its end")
	}
	return nil
}
