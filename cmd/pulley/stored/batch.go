package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/cause"
	"pulley/internal/lines"
	"pulley/internal/plural"
)

// Bounds of a group of a batch, and so of memory. A group is at most one transaction for each shard.
const (
	groupMax      = 1000
	groupBytesMax = 4 << 20
)

// lineRoom is what a line may have besides its input: a key, escaped, and names.
const lineRoom = 8 << 10

// batch submits an instance for each line.
func (r *SubmitCmd) batch(ctx context.Context, c *console.Console, where place, program *plan.Program) error {
	in, name := c.In, "<stdin>"
	if r.Batch != "-" {
		f, err := os.Open(r.Batch)
		if err != nil {
			return fmt.Errorf("--batch %s: %w; name a file that can be read", r.Batch, cause.Of(err))
		}
		defer func() { _ = f.Close() }() // only read
		in, name = f, r.Batch
	}
	s, closing, err := r.open(ctx, c, where, program)
	if err != nil {
		return err
	}
	defer closing()
	began := time.Now()
	err = r.CheckInputs(program, func(check console.InputCheck) error {
		b := batchReader{
			name: name, keyed: r.Keyed, check: check, shards: s.store.Shards(),
			lines: lines.NewReader(in, program.Graph().Limits.WithDefaults().ValueBytes+lineRoom), linger: linger,
		}
		return b.each(ctx, func(group []wanted) error { return s.submit(ctx, group) })
	})
	took := time.Since(began)
	c.Say("pulley: %s stored, %d were there, in %.1f s: %.0f a second", plural.Of(s.created, "instance"), s.found, took.Seconds(),
		float64(s.created+s.found)/max(took.Seconds(), 1e-3))
	return err
}

// batchReader reads groups of instances from lines.
type batchReader struct {
	lines  *lines.Reader
	name   string
	keyed  bool
	check  console.InputCheck
	shards int
	linger time.Duration // how long a group that is not full waits for another line
	line   int
}

// linger is how long a group that is not full waits for another line, so that those of a slow writer are stored, too.
const linger = 200 * time.Millisecond

// readAhead bounds the lines that are read while a group is stored.
const readAhead = 16

// each calls store with one group after the other, in the order of the lines. After a refused line it stores those before it.
func (b *batchReader) each(ctx context.Context, store func([]wanted) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	read := make(chan readLine, readAhead)
	go b.read(ctx, read) // ends with the input; a read that blocks ends with the process
	for groups := 0; ; groups++ {
		group, last := b.collect(ctx, read, groups)
		if len(group) > 0 {
			if err := store(group); err != nil {
				return fmt.Errorf("%s: the lines up to %d: %w", b.name, last.line, err)
			}
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case last.err != nil || last.end:
			return last.err
		}
	}
}

// collect returns a group and the last line of it, or the one that ended it.
func (b *batchReader) collect(ctx context.Context, read <-chan readLine, groups int) (group []wanted, last readLine) {
	var idle <-chan time.Time
	for size := 0; len(group) < groupMax && size < groupBytesMax; {
		select {
		case last = <-read:
		case <-idle:
			return group, last
		case <-ctx.Done():
			return nil, last
		}
		if one := last.one; one != nil {
			if one.id == uuid.Nil {
				one.id = b.newID(groups)
			}
			group = append(group, *one)
			size += len(one.input)
			idle = time.After(b.linger)
		}
		if last.err != nil || last.end {
			break
		}
	}
	return group, last
}

// readLine is a line that was read.
type readLine struct {
	one  *wanted // nil: it is empty
	line int
	end  bool
	err  error // of the line, or of reading; it is the last one
}

func (b *batchReader) read(ctx context.Context, to chan<- readLine) {
	for last := (readLine{}); !last.end && last.err == nil; {
		last = b.next()
		select {
		case to <- last:
		case <-ctx.Done():
			return
		}
	}
}

func (b *batchReader) next() readLine {
	text, tooLong, err := b.lines.ReadLine()
	b.line++
	at := fmt.Sprintf("%s:%d", b.name, b.line)
	out := readLine{line: b.line, end: errors.Is(err, io.EOF)}
	switch {
	case err != nil && !out.end:
		out.err = fmt.Errorf("%s: %w", at, cause.Of(err))
	case tooLong:
		out.err = fmt.Errorf("%s: the line is too long; the limit value_bytes bounds an input", at)
	case len(bytes.TrimSpace(text)) > 0:
		if out.one, out.err = b.parse(at, bytes.Clone(text)); out.err != nil {
			out.one = nil
		}
	}
	return out
}

// parse reads an instance. Without a key it has no id yet.
func (b *batchReader) parse(at string, text []byte) (*wanted, error) {
	one := &wanted{}
	if b.keyed {
		var line struct {
			Key   string          `json:"key"`
			Input json.RawMessage `json:"input"`
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&line); err != nil || len(line.Input) == 0 || d.More() {
			return nil, fmt.Errorf(`%s: with --keyed a line is {"key":TEXT,"input":{…}}`, at)
		}
		if err := checkKey(at, line.Key); err != nil {
			return nil, err
		}
		one.id, one.name, text = backend.IDOfKey(line.Key), at, line.Input
	}
	var err error
	one.input, err = b.check(at, text)
	return one, err
}

// idTries bounds the ids that are made for one in the shard of the group.
const idTries = 64

// newID makes an id in the group's shard: then the group is one transaction.
func (b *batchReader) newID(groups int) (id uuid.UUID) {
	for range idTries {
		id = uuid.Must(uuid.NewV7())
		if backend.ShardOf(id, b.shards) == groups%b.shards {
			break
		}
	}
	return id
}
